//! Command lines for PowerShell. The command is passed in base64, so no quoting can change it: the
//! shell runs exactly the text that the user approved.

use std::{ffi::OsString, io, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};

/// Longest command in characters. Encoding turns 12,000 into 32,000 characters; a command line on
/// Windows holds 32,767.
const MAX_CHARS: usize = 12_000;

/// Returns the path of PowerShell below the system folder `root`. The search path is not used.
pub(super) fn program(root: Option<OsString>) -> io::Result<PathBuf> {
    let root = root.map(PathBuf::from).filter(|root| root.is_absolute());
    let root = root.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "PowerShell was not found: SystemRoot is not an absolute path",
        )
    })?;
    let below = ["System32", "WindowsPowerShell", "v1.0", "powershell.exe"];
    Ok(below.into_iter().fold(root, |path, name| path.join(name)))
}

/// Options that skip the user's profile and produce plain text.
const OPTIONS: [&str; 8] = [
    "-NoLogo",
    "-NoProfile",
    "-NonInteractive",
    "-InputFormat",
    "Text",
    "-OutputFormat",
    "Text",
    "-EncodedCommand",
];

pub(super) fn arguments(command: &str) -> io::Result<Vec<String>> {
    let units: Vec<u16> = command.encode_utf16().collect();
    if units.len() > MAX_CHARS {
        let reason = format!(
            "the command is longer than {MAX_CHARS} characters, which is the most that fits in a command line"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
    Ok(OPTIONS.map(str::to_owned).into_iter().chain([STANDARD.encode(bytes)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the last argument as PowerShell does.
    fn decoded(arguments: &[String]) -> String {
        let bytes = STANDARD.decode(arguments.last().unwrap()).unwrap();
        let units: Vec<u16> =
            bytes.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        String::from_utf16(&units).unwrap()
    }

    #[test]
    fn the_encoded_command_decodes_to_the_same_text() {
        for command in [
            "npm test",
            "Write-Output \"a 'b' c\"; echo $env:X `n",
            "echo 1 & echo 2 | more > x\r\n# – é 😀",
            "\" -Command evil",
        ] {
            let arguments = arguments(command).unwrap();
            assert_eq!(decoded(&arguments), command);
            assert_eq!(arguments.len(), OPTIONS.len() + 1);
            let plain = |c: char| c.is_ascii_alphanumeric() || "+/=-".contains(c);
            assert!(arguments.iter().all(|word| word.chars().all(plain)), "{arguments:?}");
        }
    }

    #[test]
    fn a_command_longer_than_the_limit_is_refused() {
        let longest = "é".repeat(MAX_CHARS);
        let line: usize = arguments(&longest).unwrap().iter().map(|word| word.len() + 1).sum();
        assert!(line < 32_767 - 300, "{line}");
        assert!(arguments(&(longest + "x")).is_err());
    }

    #[test]
    fn powershell_is_found_below_an_absolute_system_folder_only() {
        let root = if cfg!(windows) { r"C:\Windows" } else { "/windows" };
        let found = program(Some(root.into())).unwrap();
        assert!(found.starts_with(root) && found.ends_with("v1.0/powershell.exe"), "{found:?}");
        assert!(program(Some("windows".into())).is_err() && program(None).is_err());
    }
}

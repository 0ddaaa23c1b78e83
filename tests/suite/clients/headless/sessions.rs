//! Sessions of `cairn run`, and its questions on a terminal.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    sync::{Arc, Mutex},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::sync::Notify;

use super::*;

impl Run {
    /// Arguments of another run in the same folder, with another script.
    fn again(&self, task: &str, steps: &Value, options: &[&str]) -> Vec<String> {
        let script = self.folder.path().join("again.json");
        fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
        let words = ["run", task, "--replay", script.to_str().unwrap()];
        words.iter().chain(options).map(|word| (*word).to_owned()).collect()
    }

    /// Starts it with its standard streams on a terminal.
    fn on_terminal(&self, user: File) -> tokio::process::Child {
        start(|command| {
            self.environment(command);
            command.env("TERM", "xterm").env("NO_COLOR", "1").args(&self.arguments);
            command.stdin(user.try_clone().unwrap());
            command.stdout(user.try_clone().unwrap()).stderr(user);
        })
    }
}

/// Session of the command that `err` names.
fn resumed(err: &str) -> String {
    let (_, rest) = err.split_once("cairn run --resume ").expect(err);
    rest.split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn exit_3_names_the_command_that_answers_and_it_does() {
    let run = Run::new(json!([{ "text": "Tabs or spaces?" }]));
    let asked = run.told(&run.arguments).await;
    assert_eq!(asked.code, Some(3));
    let session = resumed(&asked.err);
    let work = run.folder.path().join("work");
    let command = format!("To answer: cairn run --resume {session} --workspace {}", work.display());
    assert!(asked.err.contains(&command), "{}", asked.err);

    // A script goes on in a session where the one before it ended.
    let heard = json!({ "expect": { "contains": ["Tabs or spaces?", "Tabs."] }, "text": "Tabs." });
    let heard = json!([{ "text": "Never." }, heard, heard]);
    for option in [&["--resume", session.as_str()][..], &["--continue"]] {
        let answered = run.told(&run.again("Tabs.", &heard, option)).await;
        assert_eq!((answered.code, answered.out.trim()), (Some(0), "Tabs."), "{}", answered.err);
        assert_eq!(resumed(&answered.err), session);
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_wrong_usage() {
    let run = Run::new(json!([{ "text": "Never." }]));
    for (options, said) in [
        (&["--continue"][..], "there is no session in this folder to continue"),
        (&["--resume", "s-0"], "there is no session s-0 in this folder"),
    ] {
        let told = run.told(&run.again("Go on", &json!([]), options)).await;
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""));
        assert!(told.err.contains(said), "{}", told.err);
    }
}

/// Standard streams of a run that lead to a terminal, where a test types.
struct Pty {
    keyboard: File,
    screen: Arc<(Mutex<String>, Notify)>,
}

impl Pty {
    fn open() -> (Self, File) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let control: OwnedFd = openpt(flags).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap();
        let path = std::path::Path::new(name.to_str().unwrap());
        let user = File::options().read(true).write(true).open(path).unwrap();
        let mut output = File::from(control);
        let keyboard = output.try_clone().unwrap();
        let screen = Arc::new((Mutex::new(String::new()), Notify::new()));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the last user of the terminal is gone.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.0.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
                shown.1.notify_one();
            }
        });
        (Self { keyboard, screen }, user)
    }

    async fn until(&self, text: &str) {
        let shown = async {
            while !self.screen.0.lock().unwrap().contains(text) {
                self.screen.1.notified().await;
            }
        };
        let is_shown = timeout(LIMIT, shown).await.is_ok();
        assert!(is_shown, "{text} is not in {}", self.screen.0.lock().unwrap());
    }

    fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn what_was_typed_before_a_question_is_no_answer() {
    let command = json!({ "name": "bash", "arguments": { "command": "touch made" } });
    let text = "Allow? [y]es, or wait";
    let run = Run::new(json!([{ "text": text, "calls": [command] }, { "text": "Done." }]));
    let (mut pty, user) = Pty::open();
    pty.type_line("y");
    let mut child = run.on_terminal(user);
    pty.until("[N]o; words after it are for the agent: ").await;
    pty.type_line("n");
    let status = timeout(LIMIT, child.wait()).await.expect("it ends").unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!run.folder.path().join("work/made").exists());
    let screen = pty.screen.0.lock().unwrap().clone();
    assert!(screen.contains(&format!("│ {text}")), "{screen}");
}

#[tokio::test]
async fn questions_of_the_agent_are_answered_on_a_terminal() {
    let ask = json!({ "name": "ask_user", "arguments": { "question": "Which indent?", "options": ["tabs", "spaces"] } });
    let run = Run::new(json!([
        { "calls": [ask] },
        { "expect": { "lastContains": ["spaces"] }, "text": "How wide?" },
        { "expect": { "lastContains": ["four"] }, "text": "Done." },
    ]));
    let (mut pty, user) = Pty::open();
    let mut child = run.on_terminal(user);
    pty.until("Answer, or a number from the list: ").await;
    pty.type_line("2");
    pty.until("Answer (an empty line ends the run): ").await;
    pty.type_line("four");
    pty.until("Done.").await;
    let status = timeout(LIMIT, child.wait()).await.expect("it ends").unwrap();
    assert_eq!(status.code(), Some(0));
    let screen = pty.screen.0.lock().unwrap().clone();
    assert!(screen.contains("  1. tabs") && !screen.contains("\u{1b}[2m"), "{screen}");
}

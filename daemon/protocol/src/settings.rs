//! Table of all settings, the only source of the extension's manifest and of `docs/settings.md`.
//!
//! `make gen` writes both, and the test `generated` compares them. The daemon takes names of
//! settings and values of enumerations from here; a test compares its defaults with the table's.

mod table;

pub use table::GROUPS;

/// Name of the section that all settings are in.
pub const SECTION: &str = "cairn";

/// Page of settings in the settings editor.
#[derive(Debug)]
pub struct SettingGroup {
    pub title: &'static str,
    pub settings: &'static [Setting],
}

/// One setting, with its texts in the user interface.
#[derive(Debug)]
pub struct Setting {
    /// Key without the section.
    pub key: &'static str,
    pub scope: SettingScope,
    pub kind: SettingKind,
    /// Text between backticks is shown as code, `#cairn.…#` as a link to that setting.
    pub description: &'static str,
}

/// Places that may set a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// The user, for all workspaces and machines.
    User,
    /// The user, for one machine: paths and the sandbox.
    Machine,
    /// The user or the workspace: harmless settings only.
    Workspace,
}

/// Type, limits and default of a value.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    Flag {
        default: bool,
    },
    Choice {
        values: &'static [SettingChoice],
        default: &'static str,
    },
    /// Empty by default, which means that it is not set.
    Text {
        multiline: bool,
    },
    /// Not set by default where `default` is `None`.
    Integer {
        minimum: u32,
        default: Option<u32>,
    },
    /// Strings; empty by default.
    List,
    /// Object; not set by default.
    Members {
        members: &'static [SettingMember],
        nullable: bool,
    },
    /// Lists of the user's commands, one list per event; empty by default.
    Hooks {
        events: &'static [HookEventSetting],
    },
}

/// Value of an enumeration.
#[derive(Debug)]
pub struct SettingChoice {
    pub value: &'static str,
    pub description: &'static str,
}

/// Key inside of an object.
#[derive(Debug)]
pub struct SettingMember {
    pub key: &'static str,
    pub kind: MemberKind,
    pub description: &'static str,
    pub required: bool,
}

/// Type of a key inside of an object.
#[derive(Debug, Clone, Copy)]
pub enum MemberKind {
    /// Number, not negative.
    Number,
    Integer {
        minimum: u32,
    },
    Choice(&'static [SettingChoice]),
}

/// Event at which hooks run.
#[derive(Debug)]
pub struct HookEventSetting {
    pub key: &'static str,
    /// A hook may be limited to certain tools.
    pub about_tools: bool,
}

/// All settings, in the order of the groups.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// Keys of all values that can be set, with those inside of objects: `model.price.input`.
pub fn keys() -> impl Iterator<Item = String> {
    all().flat_map(|setting| {
        let inside: Vec<&str> = match setting.kind {
            SettingKind::Members { members, .. } => members.iter().map(|it| it.key).collect(),
            SettingKind::Hooks { events } => events.iter().map(|it| it.key).collect(),
            _ => return vec![setting.key.to_owned()],
        };
        inside.iter().map(|key| format!("{}.{key}", setting.key)).collect()
    })
}

/// Values that the enumeration with this key allows; none if the key has another type.
pub fn choices(key: &str) -> Vec<&'static str> {
    let values = all().find_map(|setting| match setting.kind {
        SettingKind::Choice { values, .. } if setting.key == key => Some(values),
        SettingKind::Members { members, .. } => {
            let inside = key.strip_prefix(setting.key)?.strip_prefix('.')?;
            members.iter().find(|member| member.key == inside).and_then(|member| {
                match member.kind {
                    MemberKind::Choice(values) => Some(values),
                    MemberKind::Number | MemberKind::Integer { .. } => None,
                }
            })
        }
        _ => None,
    });
    values.unwrap_or_default().iter().map(|choice| choice.value).collect()
}

/// True for the first part of any key, as `model` of `model.name`.
pub fn is_section(name: &str) -> bool {
    all().any(|setting| setting.key.split('.').next() == Some(name))
}

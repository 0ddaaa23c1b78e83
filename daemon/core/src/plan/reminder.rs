//! Policy for reminders about the plan: their time and their texts.
//!
//! A reminder is guidance, never an error. None is given in the round of an update or the next one,
//! when the plan is current.

mod verifying;

use serde::{Deserialize, Serialize};

use super::{Accepted, Dialect, Plan, PlanProgress};

/// Minimum number of items for the reminder to verify.
const VERIFIED_ITEMS: usize = 3;

/// Number of times that the interval of the policy `reset` doubles.
const MOST_DOUBLINGS: u32 = 10;

const END: &str = "Your answer would end the turn, but work is left:";
const END_ADVICE: &str = "Do now what you can. Bring the plan up to date if it is not true. Then \
    write your whole answer again, because the user reads the last one, and say what you left \
    and why.";

/// Asks the model not to answer a reminder. The user can see reminders.
const NO_ANSWER: &str = "This note is from the editor; it needs no answer.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReminderSettings {
    pub initial: bool,
    pub nag: NagPolicy,
    pub verification: bool,
    /// Asks the model once in a turn to finish, before an answer that leaves work open.
    pub end: bool,
    pub texts: ReminderTexts,
}

/// Limits for reminders, in model rounds (not tool calls) without an accepted todo call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NagPolicy {
    /// Reminds in each round, from this number of rounds on.
    EveryRound {
        rounds: u32,
    },
    /// Reminds once after this number of rounds, then after twice as many, and so on until the plan is
    /// updated. Only rounds with effects count: reading changes no plan.
    Reset {
        rounds: u32,
    },
    /// Reminds once after more than this number of rounds, then counts from zero.
    Patient {
        rounds: u32,
    },
    Off,
}

/// Texts of the reminders. An empty one stands for the usual text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReminderTexts {
    pub initial: String,
    /// Text for an open plan; a line with the state of the plan follows it.
    pub stale: String,
    /// Text for a turn of several steps without an open plan.
    pub unplanned: String,
    pub verification: String,
}

/// Reminder counters of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReminderState {
    initial_given: bool,
    /// True if the reminder to verify was given in this turn.
    verification_given: bool,
    rounds: u32,
    /// True if the newest round had an update.
    fresh: bool,
    /// Number of reminders since the last update.
    #[serde(default, skip_serializing_if = "is_zero")]
    given: u32,
    /// True if a command that checks ran since the last edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    checked: bool,
    #[serde(default, skip_serializing_if = "EditCheck::is_unneeded")]
    edit_check: EditCheck,
    /// True if the plan was updated in this turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    planned: bool,
    /// True if the reminder at the end was given in this turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    end_given: bool,
}

/// Newest check of the edits of a turn, by a command that tests, builds or checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EditCheck {
    /// No file was edited that needs one.
    #[default]
    Unneeded,
    /// None ran since the last edit.
    Missing,
    Failed,
    Succeeded,
}

impl EditCheck {
    fn is_unneeded(&self) -> bool {
        *self == Self::Unneeded
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Round with tool calls, for the count of rounds without an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundFacts {
    /// A todo call in it was accepted.
    pub updated: bool,
    /// True if a call may have changed something, besides those of the plan.
    pub had_effects: bool,
    /// The turn has enough steps for a plan.
    pub multi_step: bool,
}

impl Default for ReminderSettings {
    /// Enables the initial reminder and the one to verify; reminds once after 3 rounds and counts
    /// again, because models ignore a text that is repeated in each round.
    fn default() -> Self {
        Self {
            initial: true,
            nag: NagPolicy::Reset { rounds: NagPolicy::DEFAULT_ROUNDS },
            verification: true,
            end: true,
            texts: ReminderTexts::default(),
        }
    }
}

impl ReminderSettings {
    pub fn defaults(dialect: Dialect) -> Self {
        Self::default().in_words_of(dialect)
    }

    /// Puts the usual text for the dialect in the place of each empty one.
    #[must_use]
    pub fn in_words_of(mut self, dialect: Dialect) -> Self {
        let (own, usual) = (&mut self.texts, ReminderTexts::defaults(dialect));
        for (own, usual) in [
            (&mut own.initial, usual.initial),
            (&mut own.stale, usual.stale),
            (&mut own.unplanned, usual.unplanned),
            (&mut own.verification, usual.verification),
        ] {
            if own.is_empty() {
                *own = usual;
            }
        }
        self
    }
}

impl NagPolicy {
    pub const DEFAULT_ROUNDS: u32 = 3;
    pub const DEFAULT_PATIENT_ROUNDS: u32 = 10;

    /// Reads the values of the setting `plan.reminder`; `None`: no such policy exists.
    pub fn from_setting(policy: &str, rounds: Option<u32>) -> Option<Self> {
        match policy {
            "every-round" => {
                Some(Self::EveryRound { rounds: rounds.unwrap_or(Self::DEFAULT_ROUNDS) })
            }
            "reset" => Some(Self::Reset { rounds: rounds.unwrap_or(Self::DEFAULT_ROUNDS) }),
            "patient" => {
                Some(Self::Patient { rounds: rounds.unwrap_or(Self::DEFAULT_PATIENT_ROUNDS) })
            }
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

impl ReminderTexts {
    pub fn defaults(dialect: Dialect) -> Self {
        let tool = dialect.tool_in_words();
        let bring_up_to_date = match dialect {
            Dialect::List(_) => format!("send it again with {tool}"),
            Dialect::Tasks => "bring it up to date with TaskUpdate".to_owned(),
        };
        Self {
            initial: format!(
                "If this takes three or more steps, write them down with {tool} before you begin, \
                 and keep the list true as you go: one item in progress, each completed as soon as \
                 it is done. For a single step or a question, leave the list alone. {NO_ANSWER}"
            ),
            stale: format!(
                "The plan has not been updated for some rounds. If it no longer says what you are \
                 doing, {bring_up_to_date}: complete what is done, mark what you work on now, add \
                 what you found. If it is still true, just go on. {NO_ANSWER}"
            ),
            unplanned: format!(
                "This has grown to several steps without an open plan. If more lie ahead, write \
                 them down with {tool}; if you are nearly done, just finish. {NO_ANSWER}"
            ),
            verification: format!(
                "All items are completed, and none of them was about checking the result. Before \
                 you report, make sure that it works: run the tests, the build or the linter, or \
                 read your changes once more. Say what you verified, and what you could not. \
                 {NO_ANSWER}"
            ),
        }
    }
}

impl ReminderState {
    /// Returns the reminder for the first message of a session; `None` later.
    pub fn initial(&mut self, settings: &ReminderSettings) -> Option<String> {
        let first = !std::mem::replace(&mut self.initial_given, true);
        (first && settings.initial).then(|| settings.texts.initial.clone())
    }

    /// Resets the count at the start of a turn.
    pub fn turn_started(&mut self) {
        self.rounds = 0;
        self.verification_given = false;
        self.checked = false;
        self.edit_check = EditCheck::Unneeded;
        self.planned = false;
        self.end_given = false;
    }

    /// Returns the reminder after a round with tool calls.
    pub fn after_round(
        &mut self,
        settings: &ReminderSettings,
        plan: &Plan,
        round: RoundFacts,
    ) -> Option<String> {
        let RoundFacts { updated, had_effects, multi_step } = round;
        let right_after = std::mem::replace(&mut self.fresh, updated);
        if updated {
            self.planned = true;
            (self.rounds, self.given) = (0, 0);
            return None;
        }
        let counts = had_effects || !matches!(settings.nag, NagPolicy::Reset { .. });
        self.rounds = self.rounds.saturating_add(u32::from(counts));

        let (due, count_anew) = match settings.nag {
            NagPolicy::EveryRound { rounds } => (self.rounds >= rounds, false),
            NagPolicy::Reset { rounds } => {
                let interval = rounds.saturating_mul(1 << self.given.min(MOST_DOUBLINGS));
                (counts && self.rounds >= interval, true)
            }
            NagPolicy::Patient { rounds } => (self.rounds > rounds, true),
            NagPolicy::Off => (false, false),
        };
        let is_open = plan.open_count() > 0;
        if !due || right_after || !(is_open || multi_step) {
            return None;
        }
        if count_anew {
            self.rounds = 0;
            self.given = self.given.saturating_add(1);
        }
        Some(if is_open {
            format!("{}\n{}", settings.texts.stale, standing(plan))
        } else {
            settings.texts.unplanned.clone()
        })
    }

    /// Notes a command that ran. One that checks counts until the next edit.
    pub fn command_ran(&mut self, command: &str, succeeded: bool) {
        if verifying::checks(command) {
            self.checked = true;
            if !self.edit_check.is_unneeded() {
                self.edit_check = if succeeded { EditCheck::Succeeded } else { EditCheck::Failed };
            }
        }
    }

    /// Notes a change of a file, which no check has seen yet.
    pub fn edited(&mut self, path: &str) {
        self.checked = false;
        if verifying::needs_check(path) {
            self.edit_check = EditCheck::Missing;
        }
    }

    /// Returns true if no command has checked the last edit of this turn with success. Prose needs no check.
    pub fn lacks_check(&self) -> bool {
        matches!(self.edit_check, EditCheck::Missing | EditCheck::Failed)
    }

    /// Returns the reminder before an answer that would end the turn although items of a plan of
    /// this turn are open, or no command checked the last edit; once in a turn. `can_run`: the
    /// model has a tool that runs commands.
    pub fn end(
        &mut self,
        settings: &ReminderSettings,
        plan: &Plan,
        can_run: bool,
    ) -> Option<String> {
        let open = if self.planned { plan.open_count() } else { 0 };
        let unchecked =
            self.edit_check == EditCheck::Missing && can_run && !self.verification_given;
        if !settings.end || self.end_given || (open == 0 && !unchecked) {
            return None;
        }
        self.end_given = true;
        let mut left = Vec::new();
        if open > 0 {
            left.push(format!("- Open in your plan:\n{}", plan.render()));
        }
        if unchecked {
            left.push("- No command has tested, built or checked your last edit.".to_owned());
        }
        Some(format!("{END}\n{}\n{END_ADVICE}", left.join("\n")))
    }

    /// Returns the reminder to verify, for a call that completes a list of three or more items
    /// without one about verification, where no command checked the last edit; once in a turn.
    pub fn verification(
        &mut self,
        settings: &ReminderSettings,
        plan: &Plan,
        accepted: &Accepted,
    ) -> Option<String> {
        let due = settings.verification
            && !self.verification_given
            && !self.checked
            && accepted.completed_all_now
            && plan.items().len() >= VERIFIED_ITEMS
            && !plan.items().iter().any(|item| verifying::is_about_verifying(&item.content));
        self.verification_given |= due;
        due.then(|| settings.texts.verification.clone())
    }
}

fn standing(plan: &Plan) -> String {
    let PlanProgress { completed, total, .. } = plan.progress();
    let done = format!("{completed} of {total} completed");
    match plan.in_progress() {
        Some(item) => format!("Now: {done}, in progress: #{} {}", item.label(), item.content),
        None => format!("Now: {done}, nothing in progress"),
    }
}

#[cfg(test)]
mod tests;

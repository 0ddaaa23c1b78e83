//! Notifications of the daemon. Each is a snapshot: the newest `rev` wins.

use macro_rules_attribute::apply;
use serde::Serialize;

use crate::{
    ModelCheckNotification, OutputNotification, ProcessesNotification, QueueNotification,
    SubagentNotification, ToolNotification, typescript::TypescriptMethod,
};

mod message;
mod plan;
mod review;
mod status;
mod turn;

pub use message::*;
pub use plan::*;
pub use review::*;
pub use status::*;
pub use turn::*;

macro_rules! notices {
    ($($name:ident($params:ty) = $method:literal),+ $(,)?) => {
        /// Any notification of the daemon.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Notice { $($name($params)),+ }

        impl Notice {
            pub fn method(&self) -> &'static str {
                match self { $(Notice::$name(_) => $method),+ }
            }

            /// Parses a notification; `None` for a method of another protocol.
            pub fn parse(method: &str, params: serde_json::Value) -> Option<serde_json::Result<Notice>> {
                match method {
                    $($method => Some(serde_json::from_value(params).map(Notice::$name)),)+
                    _ => None,
                }
            }
        }

        pub(crate) const NOTICES: &[TypescriptMethod] =
            &[$(TypescriptMethod::notification::<$params>(stringify!($name), $method)),+];
    };
}

/// Newest notifications of a session, which its snapshot repeats as they were sent.
#[apply(wire)]
#[derive(Default)]
pub struct SessionNews {
    /// Newest turn, running or ended.
    pub turn: Option<TurnNotification>,
}

notices! {
    Turn(TurnNotification) = "agent/turn",
    Plan(PlanNotification) = "agent/plan",
    Subagent(SubagentNotification) = "agent/subagent",
    Message(MessageNotification) = "agent/message",
    Tool(ToolNotification) = "agent/tool",
    Output(OutputNotification) = "agent/output",
    Review(ReviewNotification) = "agent/review",
    Processes(ProcessesNotification) = "agent/processes",
    Usage(UsageNotification) = "agent/usage",
    Queue(QueueNotification) = "agent/queue",
    Status(StatusNotification) = "agent/status",
    ModelCheck(ModelCheckNotification) = "agent/models/checked",
}

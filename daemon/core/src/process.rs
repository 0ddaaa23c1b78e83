//! Processes: commands that continue after the call that started them. The table of their states, and
//! the ring of their newest output.

mod ring;
mod table;

pub use ring::{OutputRing, Piece};
pub use table::{
    ENDED_KEPT, ProcessEntry, ProcessExit, ProcessId, ProcessState, ProcessTable, RUNNING_LIMIT,
    Start, StoppedBy,
};

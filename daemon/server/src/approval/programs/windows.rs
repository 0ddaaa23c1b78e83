//! No program is treated as found. The policy parses the grammar of another shell than the one that runs
//! commands here, so no command runs without approval and no rule is offered.

use std::path::PathBuf;

use crate::workspace::Workspace;

pub(in crate::approval) fn lies_outside(
    _program: &str,
    _path: &[PathBuf],
    _workspace: &Workspace,
) -> bool {
    false
}

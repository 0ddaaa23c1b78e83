//! Instructions for the model about the four task tools: how, when, and when not to use them.

use super::TaskTool;

pub(super) fn description(tool: TaskTool) -> &'static str {
    match tool {
        TaskTool::Create => CREATE,
        TaskTool::Get => GET,
        TaskTool::Update => UPDATE,
        TaskTool::List => LIST,
    }
}

const CREATE: &str = "\
Add one task to the task list of this conversation and get its number. The list is kept on disk, so \
it is still there when the conversation is taken up again; the user watches it to see where you are.

# When to use it
- The work takes three or more distinct steps, or the user asks for several things at once.
- Some steps have to wait for others: create them, then say so with TaskUpdate.
- You discover work on the way that is not done in the same breath.
- The user asks for a plan or a list.

# When not to
- One simple step, or fewer than three: just do it.
- A question, an explanation, a conversation: just answer.
- Work already done: a task written afterwards helps nobody.

# How to write it
- `subject` names a result, short and in the imperative: `Reject expired tokens in login`, not `Work \
on auth`.
- `description` is for whoever takes the task up without having read this conversation: which files, \
what was decided, how to see that it is done.
- A new task is pending. Look at TaskList first when you take up an earlier conversation, so that \
nothing is there twice.

# Examples: use it
User: \"Move the sessions to the new database, and drop the old table when nothing reads it.\"
`Copy the sessions to the new database`, `Read sessions from the new database`, `Drop the old \
sessions table`; the second is blocked by the first, the third by the second.

User, while you work: \"While you are there, the error page needs our new logo.\"
Create `Show the new logo on the error page` and go on with what you were doing.

# Examples: do not use it
User: \"Fix the typo in the heading of the README.\"
One edit. A task would take longer than the work.

User: \"Why does the build warn about this import?\"
Look and answer. Nothing is to be planned.";

const GET: &str = "\
Read one task whole: its description, its owner, its notes, what it waits for and what waits for it.

Use it before you begin a task that you did not just write yourself: the list shows only subjects. \
For how the whole plan stands use TaskList.";

const UPDATE: &str = "\
Change one task: its status, its texts, who works on it, and what has to wait for what. Only the \
fields you send are changed; of a call with a fault nothing is.

# How to keep the list true
- Set a task `in_progress` before you start on it; have one in progress at a time.
- Set it `completed` right after it is done, not together with the next three. Completed means done: \
with a failing test, a half-made change or an unsolved error it stays in progress, or gets a new \
task for what is in the way.
- A task that still waits for others cannot be started, claimed or completed. Completing one tells \
you what it unblocked.
- `addBlockedBy` names tasks that this one waits for, `addBlocks` tasks that wait for this one. They \
must not form a circle. To let a task wait that is already in progress, set it back to `pending` in \
the same call.
- `owner` claims a task when several work on one list.
- Nothing is deleted. What turned out to be needless is completed, with the reason in its \
description.

# Examples
The migration (#2) must not run before the backup (#1): `{\"taskId\": 2, \"addBlockedBy\": [1]}`.
You begin with the backup: `{\"taskId\": 1, \"status\": \"in_progress\"}`.
It is done and checked: `{\"taskId\": 1, \"status\": \"completed\"}`. The answer says that #2 is free \
now.
Halfway through #2 you find that the schema has to change first. Create that task, say #3, then: \
`{\"taskId\": 2, \"status\": \"pending\", \"addBlockedBy\": [3]}`.";

const LIST: &str = "\
Read the whole task list: each task with its number, its status and the open tasks it waits for.

Use it when you take up an earlier conversation, when you are done with a task and look for the next \
one that nothing blocks, and before you report. Every TaskCreate and TaskUpdate answers with the \
list too, so do not ask again right after one.";

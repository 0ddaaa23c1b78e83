//! Instructions for the model about the todo tool: how, when, and when not to use it.
//!
//! Examples teach small models better than rules, so there are as many of them. Strong models know
//! such lists and get the rules alone. The examples name no field, so all dialects share them.

use super::{Teaching, table::DialectWords};
use crate::plan::rules::MAX_ITEMS;

pub(super) fn description(entry: &DialectWords, teaching: Teaching) -> String {
    let states: Vec<String> = entry.states.iter().map(|state| format!("`{state}`")).collect();
    let active_form = if entry.requires_active_form {
        ", its `activeForm` (the same step as it reads while you work on it)"
    } else {
        ""
    };
    let examples = match teaching {
        Teaching::Rules => "",
        Teaching::Examples => EXAMPLES,
    };
    format!(
        "Write down the plan for the task at hand and keep it true while you work. The user watches \
         this list to see where you are.\n\
         \n\
         Every call sends the whole list as `{list}` and replaces the old one; an empty list clears \
         it. Each item has its text in `{content}`{active_form} and a `status`: {states}. At most \
         {MAX_ITEMS} items, at most one of them in progress.\n\
         \n\
         {GUIDE}{examples}",
        list = entry.list,
        content = entry.content,
        states = states.join(", "),
    )
}

const GUIDE: &str = "\
# When to use it
- The task takes three or more distinct steps.
- The user asks for several things at once, numbered or not.
- The user asks for a plan or a list.
- New instructions arrive while you work: put them on the list before you go on.

# When not to
- One simple step, or fewer than three: just do it.
- A question, an explanation, a conversation: just answer.
- Work already done: a list written afterwards helps nobody.

# How to keep it
- Set an item in progress before you start on it, and only one at a time.
- Set it completed right after it is done, not together with the next three.
- Completed means done: with a failing test, a half-made change or an unsolved error the item stays \
in progress, or gets a new item for what is in the way.
- Add what you discover on the way; take out what is no longer needed and say so.
- Keep the texts of items you do not change, so that the user recognises them.
- Name results, not activities: `Reject expired tokens in login`, not `Work on auth`.";

const EXAMPLES: &str = "

# Examples: use it
User: \"The export should get a date filter, in the form, the query and the CSV. Make sure the tests pass.\"
Four steps that build on each other, the last one asked for by name: list `Add the filter to the \
query`, `Add the date fields to the form`, `Write the filtered rows to the CSV`, `Run the tests`, \
with the first in progress, then begin.

User: \"Rename `fetchUser` to `loadUser` everywhere.\"
You search and find 14 uses in 9 files, two of them in generated code. Now it is a plan: one item \
for the definition, one for the callers in each package, one for the generator, one for the build.

User: \"The page has become slow, find out why and fix it.\"
The steps are not known yet. List `Measure where the time goes` and `Fix the cause`, and split the \
second when you know what it is: `Load the avatars in one query`, `Stop rendering hidden rows`.

User, while you work on the second of three items: \"And please bump the version too.\"
Add `Bump the version` at the end, keep the others as they are, go on with the second.

# Examples: do not use it
User: \"Which function writes the config file?\"
Search and answer. Nothing is to be planned.

User: \"Fix the typo in the heading of the README.\"
One edit. A list would take longer than the work.

User: \"Run the linter and tell me what it says.\"
One command and an answer.

User: \"Add a comment to `parse` and a blank line after it.\"
Two things, but one edit in one place. Just make it.";

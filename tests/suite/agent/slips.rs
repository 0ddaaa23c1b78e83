//! Models with slips of form: random spellings of planning calls and of other calls. None ends a
//! session, and each plan is in the panel after its first call.

use cairn_protocol::{EndReason, Notice};
use cairn_tests::{
    model_server::{Reply, Wire},
    rng::Rng,
};
use serde_json::{Map, Value, json};

use crate::fixtures::*;

const SESSIONS: u64 = 200;
const SEED: u64 = 17;

struct Slips(Rng);

impl Slips {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.roll(of.len() as u64) as usize]
    }

    fn name(&mut self, name: &str) -> String {
        let form = self.one(&[
            "%",
            "%",
            "functions.%",
            "functions.%:0",
            "default_api:%",
            "%<|channel|>commentary",
        ]);
        form.replace('%', name)
    }

    /// An object under the call's arguments, in one of the ways that models write it.
    fn written(&mut self, value: Value) -> Value {
        if self.0.roll(4) == 0 { value.to_string().into() } else { value }
    }

    /// Whole arguments as text.
    fn arguments(&mut self, value: &Value) -> String {
        match self.0.roll(4) {
            0 => Value::from(value.to_string()).to_string(),
            _ => value.to_string(),
        }
    }

    fn item(&mut self, text: &str, words: &[&str]) -> Value {
        let mut item = Map::new();
        let content =
            self.one(&["content", "title", "text", "task", "step", "subject", "description"]);
        item.insert(content.to_owned(), text.into());
        match self.one(words) {
            "" => {}
            word => drop(item.insert("status".to_owned(), word.into())),
        }
        if self.0.roll(3) == 0 {
            let name = self.one(&["activeForm", "active_form"]);
            item.insert(name.to_owned(), format!("{text}…").into());
        }
        let item = Value::from(item);
        self.written(item)
    }

    /// A plan of three items: done, in progress, open.
    fn plan(&mut self) -> Reply {
        let tool = self.one(&[
            "TodoWrite",
            "todowrite",
            "todo",
            "todo_write",
            "update_plan",
            "UpdatePlan",
            "write_todos",
            "manage_todo_list",
        ]);
        let items = json!([
            self.item("Read", &["done", "completed", "complete", "finished", "Completed"]),
            self.item(
                "Write",
                &["in_progress", "in-progress", "inProgress", "doing", "In Progress"]
            ),
            self.item("Send", &["pending", "todo", "not_started", "not-started", ""]),
        ]);
        let list = self.one(&["todos", "items", "plan", "todoList", "todo_list"]);
        let arguments = json!({ list: self.written(items) });
        let (name, arguments) = (self.name(tool), self.arguments(&arguments));
        Reply::text("").call_raw("p", &name, &arguments)
    }

    /// The same plan, task by task.
    fn tasks(&mut self) -> Reply {
        let mut reply = Reply::text("");
        for (at, subject) in ["Read", "Write", "Send"].into_iter().enumerate() {
            let member = self.one(&["subject", "title", "content"]);
            let arguments = self.arguments(&json!({ member: subject }));
            let name = self.one(&["TaskCreate", "task_create"]);
            let name = self.name(name);
            reply = reply.call_raw(&format!("t{at}"), &name, &arguments);
        }
        let member = self.one(&["taskId", "task_id", "id"]);
        let done = self.arguments(&json!({ member: "1", "status": "done" }));
        let doing = self.arguments(&json!({ member: 2, "status": "in-progress" }));
        let name = self.name("TaskUpdate");
        reply.call_raw("u1", &name, &done).call_raw("u2", &name, &doing)
    }

    fn read(&mut self) -> Reply {
        let path = match self.0.roll(3) {
            0 => json!(["a"]),
            _ => json!("a"),
        };
        let member = self.one(&["path", "file_path", "filename"]);
        let arguments = json!({ member: path, "limit": self.one(&["5", "5.0", " 5 "]) });
        let tool = self.one(&["read_file", "Read", "view"]);
        let (name, arguments) = (self.name(tool), self.arguments(&arguments));
        Reply::text("").call_raw("r", &name, &arguments)
    }

    fn last(&mut self) -> Vec<Reply> {
        match self.0.roll(4) {
            0 => vec![say("<tool_call>\n{\"name\": \"read_file\"}\n</tool_call>"), say("Done.")],
            1 => vec![say("<think>shall I?</think>Done.")],
            2 => vec![say("I wonder.\n</think>\n\nDone.")],
            _ => vec![say("Done.")],
        }
    }
}

fn marks(notice: &Notice, session: &str) -> Option<String> {
    let Notice::Plan(plan) = notice else { return None };
    let items = plan.items.iter().map(|item| {
        let mark = mark(item.status);
        format!("[{mark}] {}", item.content)
    });
    (plan.session_id == session).then(|| items.collect::<Vec<_>>().join(", "))
}

#[tokio::test]
async fn random_slips_of_form_end_no_session_and_hide_no_plan() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
    let mut slips = Slips(Rng(SEED));
    for number in 0..SESSIONS {
        let plan = if slips.0.roll(4) == 0 { slips.tasks() } else { slips.plan() };
        let replies: Vec<Reply> =
            [plan.clone(), slips.read()].into_iter().chain(slips.last()).collect();
        let end = test.play(replies).await;
        let which = format!("session {number} of seed {SEED}: {plan:?}");
        assert_eq!(end.reason, EndReason::Completed, "{which}: {}", end.summary);
        assert_eq!(end.summary, "Done.", "{which}");
        // Between the first answer and the second request.
        let requests = test.model.take_requests();
        let second = requests[1].json().to_string();
        assert!(second.contains("(1/3 completed)"), "{which}: {second}");
        let notices = test.editor.notices();
        let shown: Vec<_> =
            notices.iter().filter_map(|notice| marks(notice, &end.session_id)).collect();
        assert!(shown.iter().any(|it| it == "[x] Read, [>] Write, [ ] Send"), "{which}: {shown:?}");
        assert_eq!(shown.last().unwrap(), "[x] Read, [>] Write, [ ] Send", "{which}");
        assert!(result(&requests[2], "r").contains('x'), "{which}");
    }
    assert_eq!(test.model.violations(), [""; 0]);
}

//! Calls of the other planning form: a whole list for the graph, and calls of single tasks for a
//! plan that is a list.
//!
//! A model plans with the tool that it was trained on, whichever is offered.

use std::collections::HashSet;

use serde_json::Value;

use super::{Graph, GraphTask, TaskOutcome, TaskTool, begun};
use crate::plan::{
    Draft, FaultKind, Faults, Plan, Status, TodoItem, TodoOutcome, active_form, identity,
};

/// Applies a call of a single task to a plan that is a list, and returns the result for the model.
pub fn apply_to_list(plan: &mut Plan, tool: TaskTool, arguments: &Value) -> TodoOutcome {
    let request = tool.read(arguments);
    let numbers = numbers(plan.items());
    let mut graph = of_list(plan, &numbers);
    match graph.apply(&request) {
        Err(faults) => TodoOutcome { content: faults.to_string(), is_error: true, accepted: None },
        Ok(outcome) => {
            let accepted = request.writes().then(|| {
                let items = as_list(&graph, plan.items(), &numbers);
                plan.last_id = graph.last_id;
                plan.show(items)
            });
            TodoOutcome { content: outcome.content, is_error: false, accepted }
        }
    }
}

/// Number of each item for the calls: the one that the model reads, where that is a number.
fn numbers(items: &[TodoItem]) -> Vec<u32> {
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
    let own = |item: &TodoItem| number(&item.id).unwrap_or(u32::MAX);
    let read: Vec<u32> =
        items.iter().map(|item| number(item.label()).unwrap_or_else(|| own(item))).collect();
    let distinct: HashSet<&u32> = read.iter().collect();
    if distinct.len() == read.len() { read } else { items.iter().map(own).collect() }
}

fn of_list(plan: &Plan, numbers: &[u32]) -> Graph {
    let number_of = |id: &String| {
        plan.items().iter().position(|item| item.id == *id).and_then(|at| numbers.get(at).copied())
    };
    let tasks = plan.items().iter().zip(numbers).map(|(item, number)| GraphTask {
        id: *number,
        subject: item.content.clone(),
        active_form: item.active_form.clone(),
        status: item.status,
        blocked_by: item.blocked_by.iter().filter_map(number_of).collect(),
        ..GraphTask::default()
    });
    Graph::load(tasks, plan.last_id)
}

/// Items of the changed graph, with the ids and the marks that they had in the list.
fn as_list(graph: &Graph, old: &[TodoItem], numbers: &[u32]) -> Vec<TodoItem> {
    let before = |number: &str| {
        let at = numbers.iter().position(|old| old.to_string() == number)?;
        old.get(at)
    };
    let id_of = |number: &String| before(number).map_or(number, |item| &item.id).clone();
    let mut items = graph.items();
    // The list keeps its order; a task's place in the graph follows its number.
    let place = |item: &TodoItem| numbers.iter().position(|old| old.to_string() == item.id);
    items.sort_by_key(|item| place(item).unwrap_or(usize::MAX));
    for item in &mut items {
        item.blocked_by = item.blocked_by.iter().map(id_of).collect();
        if let Some(old) = before(&item.id) {
            item.blocked |= old.blocked && old.blocked_by.is_empty() && item.status == old.status;
            item.given_id.clone_from(&old.given_id);
            item.id.clone_from(&old.id);
        }
    }
    items
}

impl Graph {
    /// Takes a whole list: its items continue the tasks that they equal, others are created, and an
    /// open task that it leaves out is cancelled.
    pub(super) fn replace(
        &mut self,
        drafts: &[Draft],
        mut faults: Faults,
    ) -> Result<TaskOutcome, Faults> {
        let old = self.items();
        let continued = identity::continued(&old, drafts);
        let mut next = self.clone();
        let mut listed = HashSet::new();
        let mut outcome = TaskOutcome::of(String::new());
        for (index, (draft, old_at)) in drafts.iter().zip(&continued).enumerate() {
            let known = old_at.and_then(|at| old.get(at)).and_then(|item| item.id.parse().ok());
            match next.take_draft(index, draft, known, &mut faults) {
                Ok(id) => {
                    listed.insert(id);
                    let completed = |task: Option<&GraphTask>| {
                        task.map(|it| it.status) == Some(Status::Completed)
                    };
                    if known.is_none() {
                        outcome.created.push(id);
                    }
                    if completed(next.get(id)) && !completed(self.get(id)) {
                        outcome.completed.push(id);
                    }
                }
                Err(kind) => faults.push(Some(index), "", kind),
            }
        }
        next.check_orders(self, &mut faults);
        faults.or(())?;
        let mut dropped = Vec::new();
        for task in next.tasks.values_mut().filter(|task| task.is_open()) {
            if !listed.contains(&task.id) {
                task.status = Status::Cancelled;
                dropped.push(format!("\n- #{} {}", task.id, task.subject));
            }
        }
        *self = next;
        outcome.content = self.render();
        if !dropped.is_empty() {
            outcome.content.push_str("\n\nCancelled, because the list leaves it out:");
            outcome.content.extend(dropped);
        }
        Ok(outcome)
    }

    /// Creates or changes the task of an item, and returns its id.
    fn take_draft(
        &mut self,
        index: usize,
        draft: &Draft,
        known: Option<u32>,
        faults: &mut Faults,
    ) -> Result<u32, FaultKind> {
        let subject = draft.content.trim().to_owned();
        let id = match known {
            Some(id) => id,
            None if self.tasks.len() >= super::MAX_TASKS => return Err(FaultKind::ListFull),
            None => self.last_id.checked_add(1).ok_or(FaultKind::ListFull)?,
        };
        self.last_id = self.last_id.max(id);
        let task = self.tasks.entry(id).or_insert_with(|| GraphTask { id, ..GraphTask::default() });
        task.status = draft.status;
        match &draft.active_form {
            Some(form) => form.trim().clone_into(&mut task.active_form),
            None if task.subject != subject => task.active_form = active_form::derive(&subject),
            None => {}
        }
        task.subject = subject;
        let mut own = Faults::of_tasks();
        task.check_texts(&mut own);
        for fault in own.iter() {
            faults.push(Some(index), fault.field.clone(), fault.kind.clone());
        }
        Ok(id)
    }

    /// Checks that the call begins no task before those that it waits for, and reopens none of these.
    fn check_orders(&self, before: &Graph, faults: &mut Faults) {
        let too_early = |graph: &Graph, id: u32| {
            let is_begun = graph.get(id).is_some_and(begun);
            if is_begun { graph.open_blockers(id) } else { Vec::new() }
        };
        for id in self.tasks.keys().copied() {
            let by = too_early(self, id);
            if !by.is_empty() && too_early(before, id).is_empty() {
                faults.push(None, format!("#{id}"), FaultKind::Blocked { by });
            }
        }
    }
}

#[cfg(test)]
mod tests;

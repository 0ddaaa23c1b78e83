//! Arguments of a call to drafts, tolerant in form and strict in meaning.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::table::{
    ACTIVE_FORM, ACTIVE_FORM_ALIASES, CONTENT_ALIASES, DialectWords, LIST_ALIASES, status_of,
};
use crate::{
    json_text::unwrapped,
    plan::{Draft, FaultKind, Faults, rules::MAX_ITEMS},
};

/// A longer list is refused for its length alone: reading it would only multiply the faults.
const READ_ITEMS: usize = 100;

pub(super) fn read(entry: &DialectWords, arguments: &Value) -> (Vec<Draft>, Faults) {
    let mut faults = Faults::of_list(entry.list);
    let arguments = unwrapped(arguments);
    let list = match arguments.as_ref() {
        Value::Object(fields) => find_list(entry, fields).map(unwrapped),
        other => Some(Cow::Borrowed(other)),
    };
    // A list in a text may come with its field around it.
    let list = list.map(|list| match list.as_ref() {
        Value::Object(fields) => find_list(entry, fields).cloned().map_or(list, Cow::Owned),
        _ => list,
    });

    let mut drafts = Vec::new();
    match list.as_deref() {
        Some(Value::Array(items)) => {
            if items.len() > READ_ITEMS {
                let kind = FaultKind::TooMany { count: items.len(), limit: MAX_ITEMS };
                faults.push(None, "", kind);
                return (drafts, faults);
            }
            for (index, item) in items.iter().enumerate() {
                drafts.push(read_item(entry, item, index, &mut faults));
            }
        }
        Some(other) => faults.push(None, "", FaultKind::wrong_type("an array of objects", other)),
        None => faults.push(None, "", FaultKind::Missing),
    }
    (drafts, faults)
}

fn find_list<'a>(entry: &DialectWords, fields: &'a Map<String, Value>) -> Option<&'a Value> {
    let own = fields.get(entry.list);
    own.or_else(|| LIST_ALIASES.iter().find_map(|alias| fields.get(*alias)))
}

fn read_item(entry: &DialectWords, item: &Value, index: usize, faults: &mut Faults) -> Draft {
    let mut draft = Draft::default();
    let item = unwrapped(item);
    let Value::Object(fields) = item.as_ref() else {
        faults.push(Some(index), "", FaultKind::wrong_type("an object", &item));
        return draft;
    };
    let mut fault = |field: &'static str, kind| faults.push(Some(index), field, kind);

    match fields.get("id") {
        Some(Value::String(id)) if !id.trim().is_empty() => draft.id = Some(id.trim().to_owned()),
        Some(Value::Number(id)) if !id.is_f64() => draft.id = Some(id.to_string()),
        None | Some(Value::Null | Value::String(_)) => {}
        Some(other) => fault("id", FaultKind::wrong_type("a string or a whole number", other)),
    }
    let own = fields.get(entry.content).filter(|value| !value.is_null());
    let content = own.or_else(|| {
        let mut others = CONTENT_ALIASES.iter().filter_map(|alias| fields.get(*alias));
        others.find(|value| value.is_string())
    });
    match content {
        Some(Value::String(content)) => draft.content = content.clone(),
        Some(other) => fault(entry.content, FaultKind::wrong_type("a string", other)),
        None => fault(entry.content, FaultKind::Missing),
    }
    match ACTIVE_FORM_ALIASES.iter().find_map(|alias| fields.get(*alias)) {
        Some(Value::String(form)) if entry.requires_active_form || !form.trim().is_empty() => {
            draft.active_form = Some(form.clone());
        }
        None | Some(Value::Null | Value::String(_)) => {}
        Some(other) => fault(ACTIVE_FORM, FaultKind::wrong_type("a string", other)),
    }
    match fields.get("status") {
        Some(Value::String(word)) => match status_of(word) {
            Some((status, blocked)) => (draft.status, draft.blocked) = (status, blocked),
            None => fault("status", FaultKind::unknown_status(word, entry.states)),
        },
        None | Some(Value::Null) => {}
        Some(other) => fault("status", FaultKind::wrong_type("a string", other)),
    }
    draft
}

//! Lists the stored sessions of the workspace.

use cairn_protocol::{ListSessionsParams, ListSessionsResult};

use crate::{
    event::Responder,
    review::Reviews,
    session::{Sessions, session_list::unreadable},
    store::session_list,
};

pub(crate) fn handle(
    sessions: &Sessions,
    params: ListSessionsParams,
    reviews: &Reviews,
    reply: Responder<ListSessionsResult>,
) {
    let Some(folder) = sessions.state_dir.clone() else {
        return reply.send(Ok(ListSessionsResult::default()));
    };
    let mine = sessions.listed(reviews);
    sessions.answer_in_background(reply, move || {
        let ListSessionsParams { cursor, limit } = params;
        session_list::page(&folder, cursor.as_deref(), limit, &mine).map_err(unreadable)
    });
}

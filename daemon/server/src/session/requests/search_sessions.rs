//! Searches the texts of all sessions of the workspace.

use cairn_protocol::{SearchSessionsParams, SearchSessionsResult};
use tokio::sync::Semaphore;

use crate::{
    event::Responder,
    review::Reviews,
    session::{
        Sessions,
        session_list::{blocking, unknown_or},
    },
    store::session_list::search,
};

/// Turn of the one search that runs at a time.
static TURN: Semaphore = Semaphore::const_new(1);

pub(crate) fn handle(
    sessions: &Sessions,
    params: SearchSessionsParams,
    reviews: &Reviews,
    reply: Responder<SearchSessionsResult>,
) {
    let Some(folder) = sessions.state_dir.clone() else {
        return reply.send(Ok(SearchSessionsResult::default()));
    };
    let mine = sessions.listed(reviews);
    let unwanted = reply.unwanted();
    sessions.services.spawn(async move {
        // One that was cancelled ends at once.
        let Ok(turn) = TURN.acquire().await else { return };
        let found = blocking(move || {
            let _turn = turn;
            let limits = search::SessionSearchLimits::default();
            let is_wanted = || !unwanted.is_cancelled();
            Ok(search::search(&folder, &params.query, &mine, limits, &is_wanted)?)
        });
        reply.send(found.await.map_err(unknown_or));
    });
}

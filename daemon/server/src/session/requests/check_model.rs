//! Checks a model by small requests.

use crate::{event::Responder, model::check, session::Sessions};
use cairn_protocol::{
    CheckModelParams, CheckModelResult, ModelCheckNotification, ModelCheckRow, Notice,
};

/// Checks a model. Each finding is reported as it comes; a cancelled request ends the check.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: CheckModelParams,
    reply: Responder<CheckModelResult>,
) {
    let CheckModelParams { check_id, server, name } = params;
    let (choice, window) = sessions.config.checked_model(server, name);
    let (services, unwanted) = (sessions.services.clone(), reply.unwanted());
    sessions.services.spawn(async move {
        let tell = |rows: &[ModelCheckRow]| {
            let (check_id, rows) = (check_id.clone(), rows.to_vec());
            services.notify(Notice::ModelCheck(ModelCheckNotification { check_id, rows }));
        };
        tokio::select! {
            rows = check::check(&choice, window, tell) => {
                reply.send(Ok(CheckModelResult { rows }));
            }
            () = unwanted.cancelled() => {}
        }
    });
}

//! Requests about models: those that can be chosen, those of a server, and the check of one.

use std::time::Duration;

use cairn_protocol::{
    CheckModelParams, CheckModelResult, ModelCheckNotification, ModelCheckRow, ModelsResult,
    Notice, ServerModelsParams, ServerModelsResult,
};
use tokio::time::sleep;

use super::Sessions;
use crate::{
    event::Responder,
    model::{check, problem},
};

/// Time between two looks whether the client still waits for a check.
const LOOK_FOR_CANCEL: Duration = Duration::from_millis(200);

impl Sessions {
    /// Asks a model server for its models. The answer comes when the server has answered.
    pub(crate) fn server_models(
        &self,
        params: ServerModelsParams,
        reply: Responder<ServerModelsResult>,
    ) {
        let provider = params.provider.clone();
        let (origin, server) = self.config.model_server(params);
        self.services.spawn(async move {
            let listed = match server {
                Ok(server) => server.models().await,
                Err(failure) => Err(failure),
            };
            reply.send(Ok(match listed {
                Ok(models) => ServerModelsResult { origin, models, ..Default::default() },
                Err(failure) => ServerModelsResult {
                    origin,
                    models: Vec::new(),
                    problem: Some(problem::of_failure(&failure, &provider).message()),
                },
            }));
        });
    }

    /// Checks a model. Each finding is reported as it comes; a cancelled request ends the check.
    pub(crate) fn check_model(&self, params: CheckModelParams, reply: Responder<CheckModelResult>) {
        let CheckModelParams { check_id, server, name } = params;
        let (choice, window) = self.config.checked_model(server, name);
        let (services, is_wanted) = (self.services.clone(), reply.is_wanted());
        let unwanted = async move {
            while is_wanted() {
                sleep(LOOK_FOR_CANCEL).await;
            }
        };
        self.services.spawn(async move {
            let tell = |rows: &[ModelCheckRow]| {
                let (check_id, rows) = (check_id.clone(), rows.to_vec());
                services.notify(Notice::ModelCheck(ModelCheckNotification { check_id, rows }));
            };
            tokio::select! {
                rows = check::check(&choice, window, tell) => {
                    reply.send(Ok(CheckModelResult { rows }));
                }
                () = unwanted => {}
            }
        });
    }

    pub(crate) fn models(&self) -> ModelsResult {
        let choice = &self.config.choice;
        ModelsResult { active: choice.info.clone(), providers: choice.providers.clone() }
    }
}

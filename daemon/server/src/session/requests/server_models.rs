//! Asks a model server for its models.

use cairn_protocol::{ServerModelsParams, ServerModelsResult};

use crate::{event::Responder, model::problem, session::Sessions};

/// Asks a model server for its models. The answer comes when the server has answered.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ServerModelsParams,
    reply: Responder<ServerModelsResult>,
) {
    let provider = params.provider.clone();
    let (origin, server) = sessions.config.model_server(params);
    sessions.services.spawn(async move {
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

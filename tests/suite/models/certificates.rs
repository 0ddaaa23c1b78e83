//! Certificates of an organization: a server behind its own authority.

use std::{process::Stdio, sync::Arc, time::Duration};

use cairn_tests::{
    lsp_client::start,
    model_server::{ModelServer, Response, Wire},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::fixtures::*;

/// Authority of the organization as PEM, and a server's configuration with a certificate of it.
fn authority() -> (String, ServerConfig) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (issuer.pem(), config)
}

/// Takes the encryption off, in front of the model server. Returns the port.
async fn encrypted(config: ServerConfig, base_url: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (acceptor, behind) = (TlsAcceptor::from(Arc::new(config)), base_url.replace("http://", ""));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                // A client that does not know the authority ends the handshake.
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn the_authority_in_ssl_cert_file_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, config) = authority();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority).unwrap();
    let model = ModelServer::start([]).await;
    let port = encrypted(config, &model.base_url()).await;
    for knows in [false, true] {
        model.push(Response::reply(say("Done.")));
        let child = start(|command| {
            command.args(["run", "Do it", "--workspace"]).arg(folder.path());
            command.stdin(Stdio::null()).stderr(Stdio::piped());
            command.env_remove("ANTHROPIC_API_KEY").env_remove("CAIRN_MODEL");
            command.env("OPENAI_BASE_URL", format!("https://localhost:{port}/v1"));
            command.env("OPENAI_API_KEY", "key-of-the-tests");
            command.env("CAIRN_STATE_DIR", folder.path().join("state"));
            command.env("CAIRN_CONFIG_DIR", folder.path().join("config"));
            command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
            if knows {
                command.env("SSL_CERT_FILE", &file);
            }
        });
        let output = timeout(Duration::from_secs(60), child.wait_with_output())
            .await
            .expect("it ends")
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.contains("Done."), knows, "{said}\n{errors}");
        if !knows {
            assert!(format!("{said}{errors}").contains("certificate"), "{said}\n{errors}");
        }
    }
    assert_eq!(model.requests().len(), 1);
    assert_eq!(Wire::of(&model.requests()[0].path), Some(Wire::OpenAi));
}

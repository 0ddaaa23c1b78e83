//! Loopback that the commands of a session share, and that no other command reaches.

use std::{fs::File, io::IoSlice, mem::MaybeUninit, os::fd::AsFd};

use rustix::{
    cmsg_space,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

use super::*;

const SERVER: &str = "python3 -m http.server 8000";
const CLIENT: &str = "until exec 3<>/dev/tcp/127.0.0.1/8000; do sleep 0.1; done 2>/dev/null; \
    printf 'GET /a.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";

#[tokio::test]
async fn a_server_in_the_background_is_reached_by_the_next_command() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let server = json!({ "command": SERVER, "background": true });
        let [_, answer] = test.turns([server, json!({ "command": CLIENT })]).await;
        assert!(answer.ok && answer.said.contains("\none\n"), "{way}: {}", answer.said);
        // The server runs on: the next session has another network.
        let other = test.run("exec 3<>/dev/tcp/127.0.0.1/8000", &[]).await;
        assert!(other.said.contains("Connection refused"), "{way}: {}", other.said);
        assert!(other.said.contains("background: true"), "{way}: {}", other.said);
        assert_eq!(test.unharmed(), Ok(()), "{way}");
    }
}

#[tokio::test]
async fn a_command_that_goes_on_as_a_process_has_hints() {
    for way in WAYS {
        let Some(test) = SandboxTest::set(way, json!({})).await else { continue };
        let fetch = "echo 'Could not resolve host: example.invalid'; exec sleep 60";
        let [told] = test.turns([json!({ "command": fetch, "timeout_ms": 3_000 })]).await;
        assert!(told.said.contains("as process 1"), "{way}: {}", told.said);
        assert!(told.said.contains("needs: [\"network\"]"), "{way}: {}", told.said);
    }
}

/// A command is never left with the machine's network, whatever the launcher is sent.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
fn nothing_is_started_in_the_network_of_the_machine() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let own = ["user", "net"].map(|name| File::open(format!("/proc/self/ns/{name}")).unwrap());
    let own = own.each_ref().map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&own)));
    sendmsg(&ours, &[IoSlice::new(b"n")], &mut control, SendFlags::empty()).unwrap();
    let arguments = ["sandbox-run", "join-network", "echo", "BREACH"];
    let joined =
        Command::new(binary()).args(arguments).stderr(std::os::fd::OwnedFd::from(theirs)).output();
    let joined = joined.unwrap();
    assert!(!joined.status.success() && joined.stdout.is_empty(), "{joined:?}");
}

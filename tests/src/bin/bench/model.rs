//! A model server on loopback that does nothing but keep time: no checks, no script.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Instant,
};

use cairn_tests::model_server::{Reply, Wire};

use crate::daemon::DEADLINE;

pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    requests: Receiver<(TcpStream, Arrival)>,
    /// The newest request's.
    stream: Option<TcpStream>,
    /// On which requests came.
    ports: BTreeSet<u16>,
}

/// A whole request.
pub(crate) struct Arrival {
    pub(crate) first_byte: Instant,
    pub(crate) last_byte: Instant,
    /// Bytes of head and body.
    pub(crate) size: usize,
    pub(crate) body: Vec<u8>,
}

impl ModelServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || serve(stream, &sender));
            }
        });
        Self { address, requests, stream: None, ports: BTreeSet::new() }
    }

    pub(crate) fn receive(&mut self) -> Arrival {
        let (stream, arrival) =
            self.requests.recv_timeout(DEADLINE).expect("the daemon asks the model server");
        self.ports.extend(stream.peer_addr().map(|peer| peer.port()));
        self.stream = Some(stream);
        arrival
    }

    /// Number of connections of all requests.
    pub(crate) fn connections(&self) -> usize {
        self.ports.len()
    }

    /// The answer to the newest request.
    pub(crate) fn answer(&mut self, wire: Wire, reply: &Reply) -> Answer {
        let events = reply.encode(wire);
        let mut bytes = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
             transfer-encoding: chunked\r\n\r\n{:x}\r\n",
            events.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&events);
        let last_event = events.trim_ascii_end().windows(2).rposition(|pair| pair == b"\n\n");
        let end = bytes.len() - events.len() + last_event.expect("several events") + 2;
        bytes.extend_from_slice(b"\r\n0\r\n\r\n");
        Answer { stream: self.stream.take().expect("a request waits"), bytes, end }
    }
}

/// Bytes that were not sent yet.
pub(crate) struct Answer {
    stream: TcpStream,
    bytes: Vec<u8>,
    /// Byte offset of the last event.
    end: usize,
}

/// The bytes that end an answer.
pub(crate) struct End {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Answer {
    /// Sends all but the last event.
    pub(crate) fn begin(mut self) -> End {
        let bytes = self.bytes.split_off(self.end);
        self.stream.write_all(&self.bytes).expect("the daemon reads");
        End { stream: self.stream, bytes }
    }

    pub(crate) fn whole(self) -> End {
        End { stream: self.stream, bytes: self.bytes }
    }
}

impl End {
    /// In one write. Returns the time just before it: nothing can have arrived earlier.
    pub(crate) fn send(mut self) -> Instant {
        let now = Instant::now();
        self.stream.write_all(&self.bytes).expect("the daemon reads");
        now
    }
}

/// Reads requests until the client hangs up.
fn serve(mut stream: TcpStream, arrivals: &Sender<(TcpStream, Arrival)>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; 16 * 1024 * 1024];
    loop {
        let (mut filled, mut first_byte, mut size) = (0, None, usize::MAX);
        while filled < size {
            match stream.read(&mut buffer[filled..]) {
                Ok(0) | Err(_) => return,
                Ok(read) => filled += read,
            }
            first_byte.get_or_insert_with(Instant::now);
            if size == usize::MAX {
                size = request_size(&buffer[..filled]).unwrap_or(size);
            }
        }
        let last_byte = Instant::now();
        let (Some(first_byte), Ok(stream)) = (first_byte, stream.try_clone()) else { return };
        let body = buffer[head_size(&buffer[..size]).unwrap_or(0)..size].to_vec();
        if arrivals.send((stream, Arrival { first_byte, last_byte, size, body })).is_err() {
            return;
        }
    }
}

fn head_size(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Bytes of head and body, once the head has arrived.
fn request_size(bytes: &[u8]) -> Option<usize> {
    let end = head_size(bytes)?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    Some(end + length.trim().parse::<usize>().ok()?)
}

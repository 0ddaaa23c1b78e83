// Processes of a test: their CPU time, which says more than the clock does on a busy machine, and their connections.

import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The kernel's clock ticks, which Linux gives user space as 100 a second everywhere. */
const TICKS = 100;

/** CPU seconds so far of what this process started and what that started, by what it is. */
export function cpuTimes() {
  const times = {};
  for (const { name, seconds } of started()) {
    times[name] = (times[name] ?? 0) + seconds;
  }
  return times;
}

/**
 * Ids of the processes of one kind (`daemon`, `extension host`) that a process started, directly or not. A process
 * that starts a program is a copy of itself for a moment, which is not counted.
 */
export function processesOf(kind, root) {
  const found = started(root).filter(({ name }) => name === kind);
  return found.flatMap(({ pid, parent }) => (found.some((other) => other.pid === parent) ? [] : [pid]));
}

/** Remote ports of the TCP connections that a process has opened, over IPv4. */
export function connectionsOf(pid) {
  const descriptors = `/proc/${pid}/fd`;
  const sockets = new Set(readdirSync(descriptors).map((descriptor) => readLink(join(descriptors, descriptor))));
  const [, ...rows] = readFileSync(`/proc/${pid}/net/tcp`, "utf8").trim().split("\n");
  const table = rows.map((row) => row.trim().split(/\s+/u));
  const portOf = (address) => Number.parseInt(address.split(":")[1], 16);
  // A connection to a port at which somebody listens was accepted, not opened.
  const listening = new Set(table.filter(([, , , state]) => state === LISTENS).map(([, local]) => portOf(local)));
  return table
    .filter(([, local, , state, , , , , , inode]) => state === ESTABLISHED && sockets.has(`socket:[${inode}]`) && !listening.has(portOf(local)))
    .map(([, , remote]) => portOf(remote));
}

/** States of a socket in the kernel's table. */
const [ESTABLISHED, LISTENS] = ["01", "0A"];

function readLink(path) {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return "";
  }
}

function started(root = process.pid) {
  const processes = new Map(readdirSync("/proc").flatMap(read));
  const isOurs = (pid) => pid === root || (pid > 1 && isOurs(processes.get(pid)?.parent ?? 0));
  return [...processes]
    .filter(([pid]) => pid !== root && isOurs(pid))
    .map(([pid, { command, parent, seconds }]) => ({ pid, parent, name: nameOf(command), seconds }));
}

/** `window 1.2 s, daemon 0.1 s`: what was used since, the most first. */
export function cpuSince(before) {
  const used = Object.entries(cpuTimes()).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]);
  const shown = used.filter(([, seconds]) => seconds >= 0.05).toSorted(([, a], [, b]) => b - a);
  return shown.map(([name, seconds]) => `${name} ${seconds.toFixed(1)} s`).join(", ");
}

function read(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name comes first, in brackets, and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return [[Number(pid), { command, parent: Number(fields[1]), seconds: (Number(fields[11]) + Number(fields[12])) / TICKS }]];
  } catch {
    // No process, or one that has ended meanwhile.
    return [];
  }
}

function nameOf([program = "", ...args]) {
  const has = (part) => args.some((arg) => arg.includes(part)) || program.includes(part);
  if (has("--type=renderer")) {
    return "window";
  }
  if (has("--type=extensionHost")) {
    return "extension host";
  }
  if (program.endsWith("/cairn")) {
    return "daemon";
  }
  return has("--type=gpu-process") ? "painting" : has("chrom") ? "browser" : "server";
}

// CPU time by process: on a busy machine it says more than the clock does.

import { readFileSync, readdirSync } from "node:fs";

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

/** Ids of the processes of one kind (`daemon`, `extension host`) that a process started, directly or not. */
export function processesOf(kind, root) {
  return started(root).flatMap(({ pid, name }) => (name === kind ? [pid] : []));
}

function started(root = process.pid) {
  const processes = new Map(readdirSync("/proc").flatMap(read));
  const isOurs = (pid) => pid === root || (pid > 1 && isOurs(processes.get(pid)?.parent ?? 0));
  return [...processes]
    .filter(([pid]) => pid !== root && isOurs(pid))
    .map(([pid, { command, seconds }]) => ({ pid, name: nameOf(command), seconds }));
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

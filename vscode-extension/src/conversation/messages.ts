import type { EndReason, ToolKind, ToolState } from "../protocol";
import type { Beyond, Direction } from "../stores/reading";
import { MOST, TEXT_CHARS } from "./attachmentLimits";

/**
 * Messages between the extension and the page of the conversation view. The page is part of the
 * extension, but it shows text of models and files: what comes from it is checked like input.
 */
export const VERSION = 1;

/** Longest message of the page, in characters of its JSON text. */
export const MAX_MESSAGE = 1_000_000;
/** Longest text of the composer: it is below {@link MAX_MESSAGE} even if every character is escaped. */
export const MAX_TEXT = 160_000;
/** Longest message that brings an image or a pasted text: 5 MB in base 64, or a text with every character escaped. */
export const MAX_ATTACHMENT = 8_000_000;
/** A call in one line. */
export interface Call {
  readonly title: string;
  /** Subject of the title: the pattern of a search, or the task of a subagent. */
  readonly subject?: string;
  readonly state: ToolState;
  readonly kind?: ToolKind;
  /** Target that is opened by a click on it: a file of the workspace, and lines of it. */
  readonly path?: string;
  /** Lines that were read, such as `12–40`. */
  readonly lines?: string;
  /** Number of lines or files that a search found. */
  readonly matches?: number;
  /** Decision about the call, with its time. */
  readonly note?: string;
}

/** Step of the plan that the agent works on or has done, and its place, such as `2/5`. */
interface Step {
  readonly text: string;
  readonly place: string;
}

interface Shown {
  readonly id: string;
  /** A restored checkpoint took the effect of the item back. */
  readonly undone?: true;
}

/** Entry of the conversation as the page shows it. Texts are as they came: the page makes them fit to be seen. */
export type Item = Shown &
  (
    | {
        readonly kind: "user";
        readonly text: string;
        readonly first: boolean;
        readonly time: string;
        /** State of words that were sent to a running task; empty for others. */
        readonly state: string;
        readonly attachments: readonly SentChip[];
      }
    | { readonly kind: "text"; readonly text: string; readonly streaming: boolean; readonly cut: boolean }
    | {
        readonly kind: "work";
        readonly calls: readonly Call[];
        readonly thoughts: string;
        /** Time spent on the thoughts; 0 if it is not known. */
        readonly thoughtMs: number;
        readonly running: boolean;
      }
    | {
        readonly kind: "edit";
        readonly verb: "edited" | "created" | "deleted" | "moved";
        readonly path: string;
        readonly uri: string | undefined;
        readonly added: number;
        readonly removed: number;
        /** Edits that wait for a decision. */
        readonly pending: number;
        readonly turn: string;
        /** Revision of the review that the numbers are from. */
        readonly rev: number;
        readonly running: boolean;
        /** Decision about the newest call that needed one, with its time; empty for none. */
        readonly note: string;
      }
    | { readonly kind: "call"; readonly call: Call; readonly detail: string }
    | {
        readonly kind: "command";
        readonly command: string;
        readonly state: ToolState;
        readonly output: string;
        readonly lines: number;
        /** Last lines of the output while it runs. */
        readonly live: string;
        readonly note: string;
        readonly exitCode: number | undefined;
        /** Time that it took, or has taken up to now; absent if it has not begun. */
        readonly elapsedMs: number | undefined;
      }
    | { readonly kind: "subagent"; readonly call: Call; readonly calls: readonly Call[]; readonly earlier: number; readonly report: string }
    | ({ readonly kind: "step" } & Step)
    | { readonly kind: "notice"; readonly text: string; readonly reminder: boolean }
    /** State of the files before the turn; `message` is the id of its first entry. */
    | {
        readonly kind: "checkpoint";
        readonly message: string;
        readonly time: string;
        readonly files: readonly { readonly path: string; readonly uri: string | undefined }[];
      }
    | {
        readonly kind: "end";
        readonly reason: EndReason | "unfinished" | "restored";
        readonly summary: string;
        readonly facts: string;
        readonly actions: readonly Action[];
        /** True if the turn has text of the agent, which can be copied. */
        readonly copies: boolean;
      }
  );

/** An attachment of a message that was sent. `target` is opened by a click on it. */
export interface SentChip {
  readonly icon: string;
  readonly label: string;
  readonly target: string;
}

/** An attachment of the message that is being written. */
export interface ChipState {
  readonly id: string;
  readonly icon: string;
  readonly label: string;
  /** A pasted text, which can be put into the box again. */
  readonly expands: boolean;
}

/** A row of the list that opens while a mention is written. */
export interface MentionRow {
  readonly icon: string;
  readonly label: string;
  readonly detail: string;
}

/** A button that runs a command, sends the task of a turn again, or opens a session. */
export interface Action {
  readonly label: string;
  readonly command?: CommandName;
  readonly again?: string;
  readonly session?: string;
  /** Address of a model server on this machine. */
  readonly server?: string;
}

/** An approval that waits. */
export interface Card {
  readonly id: string;
  readonly question: string;
  readonly asker: string;
  readonly command: string;
  readonly folder: string;
  readonly reason: string;
  /** Effects that make an answer risky; empty without one. */
  readonly risk: string;
  readonly forSession: string;
  /** Rules that "Always…" would store, the beginning of a command with any further words, and the folder it enters. */
  readonly rules: readonly string[];
  readonly pattern: string;
  readonly rulesFolder: string;
  readonly change: boolean;
  readonly quarantined: boolean;
}

/** Edits of a file that a call of the agent waits for. */
export interface EditCard {
  /** URI of the file. */
  readonly id: string;
  readonly question: string;
  readonly note: string;
  /** Removed and added lines, the first of them. */
  readonly lines: readonly { readonly sign: "+" | "−"; readonly text: string }[];
  /** Number of lines that are left out. */
  readonly more: number;
  readonly added: number;
  readonly removed: number;
  /** Revision of the review that the lines are from. */
  readonly rev: number;
}

/** A question of the agent that waits. */
export interface Question {
  readonly id: string;
  readonly text: string;
  readonly options: readonly string[];
}

export interface Banner {
  readonly text: string;
  readonly severity: "info" | "warning" | "error";
  readonly actions: readonly Action[];
}

/** State of all that is around the list: small, and sent as a whole. */
export interface ViewState {
  /** Session in view; empty for a conversation that has not begun. */
  readonly session: string;
  /** Name of the session, or the words that it began with, for the header of the view. */
  readonly title: string;
  readonly phase: "starting" | "empty" | "running" | "waiting" | "retrying" | "ended" | "lost";
  readonly connected: boolean;
  readonly banners: readonly Banner[];
  /** Words and tasks to choose from for a conversation that has not begun. */
  readonly start: {
    readonly text: string;
    readonly examples: readonly string[];
    /** Missing model of a task, with the ways to one. */
    readonly setup: { readonly text: string; readonly actions: readonly Action[] } | undefined;
  };
  readonly step: Step | undefined;
  readonly mode: { readonly name: string; readonly icon: string; readonly title: string };
  readonly model: string;
  readonly meter: { readonly text: string; readonly title: string; readonly warning: boolean } | undefined;
  readonly edits: { readonly edits: string; readonly counts: { readonly added: number; readonly removed: number } } | undefined;
  readonly queue: { readonly items: readonly { readonly id: string; readonly text: string; readonly attached: string }[]; readonly held: boolean };
  readonly chip: { readonly label: string; readonly title: string; readonly selection: boolean } | undefined;
  /** Attachments of the message that is being written. */
  readonly chips: readonly ChipState[];
  readonly cards: readonly Card[];
  readonly decisions: readonly EditCard[];
  readonly questions: readonly Question[];
  /** Reason why no turn can start in the session. */
  readonly readOnly: string;
  /** A conversation that can be returned to from a new one. */
  readonly back: boolean;
  /** Parts of the conversation that the page does not have. */
  readonly beyond: Beyond;
}

/** Message to the page. */
export type ToPage = { readonly v: typeof VERSION } & (
  | { readonly type: "setup"; readonly history: readonly string[] }
  /** Changes of the list since the message with the revision before. */
  | {
      readonly type: "turns";
      readonly rev: number;
      /** The page has nothing: it is another conversation, or the page asked for all. */
      readonly fresh: boolean;
      /** Turns that are shown, oldest first, if they are other ones. */
      readonly order?: readonly string[];
      /** Turns with other items; `ids`: all of them in their order, if that is another one. */
      readonly turns: readonly { readonly turn: string; readonly ids?: readonly string[] }[];
      readonly items: readonly Item[];
      /** Text that was appended to an item. */
      readonly grown: readonly { readonly id: string; readonly delta: string }[];
    }
  | { readonly type: "state"; readonly state: ViewState }
  | { readonly type: "draft"; readonly session: string; readonly text: string }
  /** Shows or hides the reminders to the agent. */
  | { readonly type: "reminders"; readonly shown: boolean }
  | { readonly type: "sent" }
  /** Asks whether the page answers. */
  | { readonly type: "ask" }
  /** Answers the first card that has this answer: `y`, `n`, or the digit of a choice. */
  | { readonly type: "answer"; readonly answer: string }
  | { readonly type: "failed"; readonly text: string; readonly reason: string }
  /** Pasted or dropped content that could not be attached. */
  | { readonly type: "refused"; readonly reason: string }
  /** Rows for the mention with this number. */
  | { readonly type: "mentions"; readonly id: number; readonly rows: readonly MentionRow[] }
  /** Text that goes where the cursor is. */
  | { readonly type: "insert"; readonly text: string }
  | { readonly type: "focus" }
  /** Leads to an item. */
  | { readonly type: "show"; readonly id: string }
);

/** Commands that a button of the page may run. */
export const COMMANDS = [
  "cairn.acceptAll",
  "cairn.chooseMode",
  "cairn.chooseModel",
  "cairn.compact",
  "cairn.continue",
  "cairn.exportMarkdown",
  "cairn.forkSession",
  "cairn.newTask",
  "cairn.openSession",
  "cairn.rejectAll",
  "cairn.restart",
  "cairn.restoreCheckpoint",
  "cairn.reviewAll",
  "cairn.runPlan",
  "cairn.setApiKey",
  "cairn.showLog",
  "cairn.tryDemo",
  "workbench.trust.manage",
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Actions on the edits of a file. */
const EDIT_ACTIONS = ["open", "accept", "reject"] as const;

const DIRECTIONS = ["earlier", "later", "newest"] as const satisfies readonly Direction[];

const DECISIONS = ["allowOnce", "allowSession", "allowAlways", "allowPattern", "deny", "change"] as const;

/** Forms of the messages of the page: a check for each member. */
const FORMS = {
  ready: {},
  gap: {},
  /** Answer to a state, a focus or a question: the page answers. */
  alive: {},
  send: { text: isText, context: isBoolean, queue: isBoolean },
  stop: {},
  /** Asks for more of the conversation than the page has. */
  page: { direction: oneOf(DIRECTIONS) },
  focused: { on: isBoolean },
  back: {},
  draft: { session: isId, text: isText },
  /** Opens the text that is being written in an editor. */
  writeInEditor: { session: isId, text: isText },
  again: { turn: isId },
  openSession: { id: isId },
  /** Chooses a model of the server at this address. */
  server: { address: isId },
  /** Restores the files from before the message of the user with this id. */
  restore: { id: isKey },
  /** Attaches again what was sent with the message of the user with this id. */
  resend: { id: isKey },
  approve: { id: isId, decision: oneOf(DECISIONS), words: isText, shownForMs: isDuration },
  queue: { action: oneOf(["send", "drop"] as const), id: isId },
  attachText: { text: isPasted },
  attachImage: { name: isId, data: isString },
  attachFiles: { addresses: isAddresses },
  detach: { id: isId },
  expand: { id: isId },
  mention: { id: isNumber, query: isId },
  choose: { id: isNumber, row: isNumber },
  open: { target: isKey },
  output: { id: isKey },
  /** Copies the message of the user with this id, or the text of the turn that ended with this item. */
  copy: { id: isKey },
  answer: { id: isId, words: isText },
  /** Opens or decides the edits of a turn in a file; with no turn, all edits of the file. `words`: reason of a rejection, for the agent. */
  edit: { action: oneOf(EDIT_ACTIONS), uri: isKey, turn: isId, rev: isNumber, words: isText },
  command: { name: oneOf(COMMANDS) },
};

type Forms = typeof FORMS;
type Checked<Check> = Check extends (value: unknown) => value is infer Value ? Value : never;

/** Message of the page. */
export type FromPage = {
  [Type in keyof Forms]: { readonly type: Type } & { readonly [Member in keyof Forms[Type]]: Checked<Forms[Type][Member]> };
}[keyof Forms];

/** The message, or nothing if it is too large, of another version, or not exactly one of {@link FromPage}. */
export function readMessage(value: unknown): FromPage | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  const type = fields["type"];
  const limit = type === "attachImage" || type === "attachText" ? MAX_ATTACHMENT : MAX_MESSAGE;
  if (sizeOf(value) > limit || fields["v"] !== VERSION || typeof type !== "string" || !Object.hasOwn(FORMS, type)) {
    return undefined;
  }
  const form: Readonly<Record<string, (value: unknown) => boolean>> = FORMS[type as keyof Forms];
  const members = Object.entries(form);
  return members.every(([name, isValid]) => isValid(fields[name]))
    ? (Object.fromEntries([["type", type], ...members.map(([name]) => [name, fields[name]])]) as FromPage)
    : undefined;
}

function oneOf<const Name extends string>(names: readonly Name[]): (value: unknown) => value is Name {
  return (value): value is Name => names.some((name) => name === value);
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isPasted(value: unknown): value is string {
  return typeof value === "string" && value.length <= TEXT_CHARS;
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}

/** True for an address, or the key of a call, which holds an id of the model: it may be long. */
function isKey(value: unknown): value is string {
  return typeof value === "string" && value.length <= 2_000;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isAddresses(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MOST && value.every((one) => typeof one === "string" && one.length <= 4_000);
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value.length <= 200;
}

function sizeOf(value: object): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

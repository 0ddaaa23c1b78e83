import { l10n } from "vscode";

import type { CheckState, CheckedPart, FormChange, ModelCheckRow } from "../protocol";
import { oneLine } from "./display";
import { messageText } from "./messages";

const { t } = l10n;

type Code = ModelCheckRow["code"];
type ArgsOf<C extends Code> = Extract<ModelCheckRow, { code: C }> extends { args: infer A } ? A : undefined;

/** Text of each finding of a model check. The compiler refuses a code without a text. */
const texts: { readonly [C in Code]: (args: ArgsOf<C>) => string | undefined } = {
  answered: ({ milliseconds }) => t("the first answer took {0} s", Math.max(milliseconds / 1_000, 0.1).toFixed(1)),
  not_answered: ({ reason }) => messageText(reason),
  not_checked: () => t("not checked"),
  calls_tool: () => t("the call is complete"),
  call_renamed: ({ name }) => t("the name came as {0}", name),
  call_of_unknown_tool: ({ name }) => t("the model called {0}", name),
  call_arguments: ({ error }) => t("the arguments are no JSON object: {0}", error),
  call_as_text: () => t("the call came as text: the server's chat template does not fit the model"),
  no_call: () => t("the model did not call the tool"),
  answer_too_long: ({ tokens }) => t("the answer was not complete after {0} tokens", tokens),
  calls_together: ({ count }) => t("{0} calls in one answer", count),
  calls_one_by_one: () => t("one call in each answer"),
  history_taken: () => t("the server accepts its own answers"),
  nothing_said: () => t("the answer was empty"),
  streamed: () => t("the text comes in pieces"),
  in_one_piece: () => t("the text comes in one piece, at its end"),
  too_short_to_tell: () => t("the text was too short to tell"),
  counts_tokens: ({ input, output }) => t("{0} in, {1} out for the first request", input, output),
  no_token_counts: () => t("the server sends no counts; Cairn estimates"),
  usual_form: () => t("as usual"),
  other_form: ({ changes }) => t("the server needs other requests: {0}", changes.map((change) => changeText[change]()).join("; ")),
  window_known: ({ tokens }) => t("{0} tokens", tokens.toLocaleString()),
  window_assumed: ({ tokens }) => t("not known; Cairn assumes {0} tokens", tokens.toLocaleString()),
};

const changeText: Readonly<Record<FormChange, () => string>> = {
  always_reasoning: () => t("earlier reasoning with each call"),
  never_reasoning: () => t("no earlier reasoning"),
  no_unknown_members: () => t("no unknown members in earlier answers"),
  signed_calls: () => t("a signature with each call"),
  no_stream_options: () => t("no stream_options"),
  other_limit_name: () => t("the other name of the answer's limit"),
  strict_turns: () => t("user and assistant by turns"),
  no_model_options: () => t("no thinking or effort options"),
};

const partText: Readonly<Record<CheckedPart, () => string>> = {
  answer: () => t("Answers"),
  toolCall: () => t("Calls tools"),
  parallelCalls: () => t("Several calls at once"),
  history: () => t("Second request"),
  streaming: () => t("Streams its answers"),
  tokenCounts: () => t("Counts tokens"),
  requestForm: () => t("Form of requests"),
  contextWindow: () => t("Context window"),
};

/** Parts of a check, in the order of its table. */
export const PARTS = Object.keys(partText) as readonly CheckedPart[];

/** Heading of a row. */
export function headingOf(part: CheckedPart): string {
  return partText[part]();
}

const stateText: Readonly<Record<Exclude<CheckState, "works" | "unknown">, () => string>> = {
  adapted: () => t("adapted"),
  limited: () => t("limited"),
  broken: () => t("broken"),
};

/** State and finding of a row: `limited: one call in each answer`. Other texts say the state themselves. */
export function findingText(row: ModelCheckRow): string {
  const text = oneLine(
    (texts[row.code] as ((args: unknown) => string | undefined) | undefined)?.("args" in row ? row.args : undefined) ?? row.text,
    400,
  );
  return row.state === "works" || row.state === "unknown" ? text : t("{0}: {1}", stateText[row.state](), text);
}

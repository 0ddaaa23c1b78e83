import type { JSX } from "preact";

import type { Action, Banner, FromPage, ViewState } from "../src/conversation/messages";
import { Button, Counts, Icon } from "./parts";
import { t } from "./strings";

type Act = (action: Action) => void;

export function Banners({ banners, act }: { readonly banners: readonly Banner[]; readonly act: Act }): JSX.Element {
  return (
    <>
      {banners.map(({ text, severity, actions }) => (
        <div class={`banner ${severity}`} role="status">
          <Icon name={severity} />
          <span class="grow">{text}</span>
          {actions.map((action) => (
            <Button class="link-button" run={() => act(action)}>
              {action.label}
            </Button>
          ))}
        </div>
      ))}
    </>
  );
}

/** The step in progress, while a task runs. */
export function Strip({ state: { step, phase } }: { readonly state: ViewState }): JSX.Element | null {
  if (phase !== "running" && phase !== "waiting" && phase !== "retrying") {
    return null;
  }
  const words = phase === "retrying" ? t("retrying") : step?.text === undefined || step.text === "" ? t("working") : step.text;
  return (
    <div class="strip">
      {phase === "waiting" ? <Icon name="warning" /> : <Icon name="loading" spins />}
      <span class="grow cut" title={words}>
        {words}
      </span>
      <span class="faint">{step?.place ?? ""}</span>
    </div>
  );
}

interface StartProps {
  readonly state: ViewState;
  readonly act: Act;
  readonly write: (text: string) => void;
  readonly back: () => void;
}

/** Page in place of a conversation that has not begun. */
export function Start({ state: { phase, session, back, connected, start }, act, write, back: goBack }: StartProps): JSX.Element | null {
  if (session !== "" || phase === "lost") {
    return null;
  }
  return (
    <div class="empty">
      {back && <Button class="link-button" run={goBack}>{`← ${t("back")}`}</Button>}
      <h2>{t("emptyTitle")}</h2>
      {start.setup !== undefined && <Setup setup={start.setup} act={act} />}
      <p class="faint">{start.text}</p>
      {connected &&
        start.examples.map((text) => (
          <Button class="example" run={() => write(text)}>
            {text}
          </Button>
        ))}
    </div>
  );
}

function Setup({ setup: { text, actions }, act }: { readonly setup: NonNullable<ViewState["start"]["setup"]>; readonly act: Act }): JSX.Element {
  return (
    <div class="setup" role="group" aria-label={text}>
      <p>{text}</p>
      <div class="buttons">
        {actions.map((action, at) => (
          <Button class={at === 0 ? "primary" : "secondary"} run={() => act(action)}>
            {action.label}
          </Button>
        ))}
      </div>
    </div>
  );
}

const EDIT_COMMANDS = { review: "cairn.reviewAll", acceptAll: "cairn.acceptAll", rejectAll: "cairn.rejectAll" } as const;

/** Number of edits to review, and the commands for all of them. */
export function EditsBar({ edits, post }: { readonly edits: ViewState["edits"]; readonly post: (message: FromPage) => void }): JSX.Element | null {
  return edits === undefined ? null : (
    <div class="edits">
      <Icon name="diff-multiple" />
      <span class="grow">
        <span class="what">{edits.edits}</span> <Counts added={edits.counts.added} removed={edits.counts.removed} />
      </span>
      <span class="edit-buttons">
        {Object.entries(EDIT_COMMANDS).map(([words, name]) => (
          <Button class="link-button" run={() => post({ type: "command", name })}>
            {t(words)}
          </Button>
        ))}
      </span>
    </div>
  );
}

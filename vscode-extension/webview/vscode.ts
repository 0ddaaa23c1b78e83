/** Translations, which the page has from its start: see `pageHtml`. */
const bundle = JSON.parse(document.body.dataset["strings"] ?? "{}") as Readonly<Record<string, string | undefined>>;

/** The part of VS Code's API that texts need, in the page. */
export const l10n = {
  t: (text: string, ...args: readonly (string | number)[]): string =>
    (bundle[text] ?? text).replace(/\{(\d)\}/gu, (whole, index: string) => String(args[Number(index)] ?? whole)),
};

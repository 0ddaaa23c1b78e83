/** Addresses of the page's files, as the webview can load them, and the secret of this one load. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
  /** Source of the extension's own files, as the Content Security Policy names it. */
  readonly source: string;
  readonly nonce: string;
  readonly language: string;
  /** True for a tab among the editors, false for the view in a side bar. */
  readonly tab: boolean;
  /** Translations of VS Code for the extension, which are those of the page. */
  readonly strings: unknown;
}

/**
 * Page of the conversation view. Its policy allows the extension's own script, style and font, and
 * nothing else: no picture, no frame, no connection, no address that a text could name.
 */
export function pageHtml({ script, style, source, nonce, language, tab, strings }: PageFiles): string {
  const policy = `default-src 'none'; style-src ${source}; font-src ${source}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
</head>
<body data-place="${tab ? "tab" : "view"}" data-strings="${JSON.stringify(strings).replaceAll("&", "&amp;").replaceAll('"', "&quot;")}">
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}

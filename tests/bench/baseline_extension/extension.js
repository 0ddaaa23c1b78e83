// Baseline of the latency benchmark: an extension that reads the same bytes as the daemon and shows
// the same list once the last byte has come. It has no daemon, no checks and no state.

const http = require("node:http");
const vscode = require("vscode");

exports.activate = () => {
  let todos = [];
  const changed = new vscode.EventEmitter();
  vscode.window.createTreeView("baseline.plan", {
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: (row) => (row === undefined ? ["Plan"] : row === "Plan" ? todos : []),
      getTreeItem(row) {
        const item = row === "Plan" ? new vscode.TreeItem("Plan", vscode.TreeItemCollapsibleState.Expanded) : new vscode.TreeItem(row.content);
        item.id = row === "Plan" ? row : String(todos.indexOf(row));
        item.iconPath = new vscode.ThemeIcon(row.status === "completed" ? "pass-filled" : "circle-outline");
        return item;
      },
    },
  });
  const ask = () => {
    const request = http.request(process.env.BASELINE_URL, { method: "POST" }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
        if (text.endsWith("data: [DONE]\n\n")) {
          const events = text.split("\n\n").filter((event) => event.startsWith("data: {"));
          const deltas = events.map((event) => JSON.parse(event.slice("data: ".length)).choices[0].delta);
          const given = deltas.flatMap((delta) => delta.tool_calls ?? []).map((call) => call.function.arguments);
          todos = given.length === 0 ? todos : JSON.parse(given.join("")).todos;
          changed.fire(undefined);
        }
      });
      response.on("end", ask);
    });
    request.on("error", () => undefined);
    request.end("{}");
  };
  ask();
};

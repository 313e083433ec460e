// Starts `cuts lsp` for .cuts files; everything else is the work of the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("cuts").get("command", ["cuts", "lsp"]);
  client = new LanguageClient("cuts", "CuTS", { command, args }, { documentSelector: [{ language: "cuts" }] });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `The CuTS language server did not start: ${error.message}. Install it with pip install "cuts[lsp]", ` +
        "or name its command in the setting cuts.command.",
    );
  }
}

function deactivate() {
  return client === undefined ? undefined : client.stop();
}

module.exports = { activate, deactivate };

;;; A task, its plan and its review in lsp-mode, by the recipe of docs/editors.md.
;;; Done by tests/suite/emacs.rs, which loads the recipe before.

(require 'lsp-mode)
(load (expand-file-name "common.el" (file-name-directory load-file-name)) nil t)

(setq lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      lsp-restart 'ignore
      lsp-keep-workspace-alive nil
      lsp-auto-guess-root nil)
(cairn-test-visit)
(lsp-workspace-folders-add (getenv "CAIRN_TEST_FOLDER"))
(lsp)
(cairn-test-wait "connection"
  (lambda () (seq-some (lambda (it) (eq 'initialized (lsp--workspace-status it)))
                       (lsp-workspaces))))

(defun cairn-test-act (title)
  "Choose the code action with TITLE at point."
  (cairn-test-choosing title
    (call-interactively #'lsp-execute-code-action)))

(cairn-test-run)

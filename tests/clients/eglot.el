;;; A task, its plan and its review in eglot, by the recipe of docs/editors.md.
;;; Done by tests/suite/emacs.rs, which loads the recipe before.

(require 'eglot)
(load (expand-file-name "common.el" (file-name-directory load-file-name)) nil t)

(cairn-test-visit)
(let ((eglot-sync-connect 10) (eglot-autoshutdown nil))
  (call-interactively #'eglot))
(cairn-test-wait "connection" (lambda () (eglot-current-server)))

(defun cairn-test-act (title)
  "Choose the code action with TITLE at point."
  (cairn-test-choosing title
    (eglot-code-actions (point) (point) nil t)))

(cairn-test-run)

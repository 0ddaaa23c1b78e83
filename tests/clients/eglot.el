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

;; eglot 1.9 shows no progress: the recipe shows the log, in which a line stands once.
(defun cairn-test-plan ()
  (dolist (line '("Cairn: Plan 0/2 Counting" "Cairn: Plan 1/2"))
    (unless (= 1 (cairn-test-count line))
      (cairn-test-fail (format "%d times: %s" (cairn-test-count line) line)))))

;; eglot has no lenses.
(defun cairn-test-review ()
  (cairn-test-act "Accept the change at line 1")
  (cairn-test-wait "decision" (lambda () (= 1 (length (flymake-diagnostics)))))
  (goto-char (point-max))
  (forward-line -1)
  (cairn-test-act "Reject the change at line 4"))

(cairn-test-run)

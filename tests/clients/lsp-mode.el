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

(defvar cairn-test-steps nil "What the mode line showed of progress, newest first.")
(define-advice lsp-on-progress-modeline (:after (&rest _) cairn-test)
  (push (lsp--progress-status) cairn-test-steps))

(defun cairn-test-plan ()
  (unless (seq-some (lambda (it) (and it (string-search "0/2 Counting" it))) cairn-test-steps)
    (cairn-test-fail (format "no plan: %S" cairn-test-steps)))
  (when (car cairn-test-steps)
    (cairn-test-fail (format "still shown: %S" cairn-test-steps))))

(defun cairn-test-lens (line title)
  "The lens with TITLE that is shown at LINE."
  (seq-some (lambda (overlay)
              (and (overlay-get overlay 'lsp-lens)
                   (= line (line-number-at-pos (overlay-get overlay 'lsp-lens-position)))
                   (string-search "Accept|Reject" (or (overlay-get overlay 'after-string) ""))
                   (seq-find (lambda (it) (equal it title)) (overlay-get overlay 'lsp--metadata))))
            (overlays-in (point-min) (point-max))))

(defun cairn-test-click (line title)
  (cairn-test-wait (format "lens %s at line %d" title line)
                   (lambda () (cairn-test-lens line title)))
  (funcall (get-text-property 0 'action (cairn-test-lens line title))))

(defun cairn-test-review ()
  (cairn-test-click 1 "Accept")
  (cairn-test-wait "decision" (lambda () (not (cairn-test-lens 1 "Accept"))))
  (cairn-test-click 4 "Reject"))

(cairn-test-run)

;;; What eglot and lsp-mode are asked alike.

(defun cairn-test-fail (what)
  (message "failed: %s\nsaid: %S\nbuffer: %S" what cairn-test-said (buffer-string))
  (kill-emacs 1))

(defvar cairn-test-said nil "What the user was told, newest first.")
(advice-add 'message :before
            (lambda (format &rest args)
              (when format (push (apply #'format-message format args) cairn-test-said))))

(defun cairn-test-wait (what condition)
  (let ((deadline (+ (float-time) 20)))
    (while (not (funcall condition))
      (when (> (float-time) deadline) (cairn-test-fail (concat "no " what)))
      (unless (accept-process-output nil 0.02)
        (cairn-test-be-idle)))))

(defun cairn-test-be-idle ()
  "Run what waits for an idle user: in batch mode Emacs never counts as idle."
  (dolist (timer (copy-sequence timer-idle-list))
    (timer-event-handler timer)))

(defun cairn-test-said (text)
  (seq-some (lambda (it) (string-search text it)) cairn-test-said))

(defun cairn-test-visit ()
  (find-file (expand-file-name "open.txt" (getenv "CAIRN_TEST_FOLDER"))))

(defvar cairn-test-offered nil "The answers that were last offered.")
(defvar cairn-test-asked nil "The questions for commands so far.")
(defvar cairn-test-answers nil "What the user does with the next questions.")

(defun cairn-test-answer (prompt collection &optional _ _ initial &rest _)
  "What `completing-read' does: the user presses Return, C-g, or chooses."
  (setq cairn-test-offered (all-completions "" collection)
        cairn-test-asked (cons prompt cairn-test-asked))
  (pcase (pop cairn-test-answers)
    ('return (or initial ""))
    ('quit (signal 'quit nil))
    ((and (pred functionp) act) (funcall act))
    (title title)))

(defmacro cairn-test-choosing (title &rest body)
  (declare (indent 1))
  `(cl-letf (((symbol-function 'completing-read)
              (lambda (_prompt collection &rest _)
                (let ((offered (all-completions "" collection)))
                  (or (seq-find (lambda (it) (string-prefix-p ,title it)) offered)
                      (cairn-test-fail (format "%s is not among %S" ,title offered)))))))
     (let ((last-nonmenu-event ?x)) ,@body)))

(defun cairn-test-run ()
  (fset 'completing-read #'cairn-test-answer)
  ;; A reminder of the settings that changes nothing: the script goes on being played.
  (setq cairn-test-answers (list 'return 'quit "Allow once"))
  (cairn-run-task "Count in digits")
  (cairn-test-wait "end" (lambda () (cairn-test-said "It counts in digits now.")))
  (unless (equal (buffer-string) "😀 1 two\ntwo\nthree\n5\n")
    (cairn-test-fail "not the text"))
  (unless (= (length cairn-test-asked) 3) (cairn-test-fail (format "asked: %S" cairn-test-asked)))
  (unless (equal '(nil nil t)
                 (mapcar (lambda (it) (file-exists-p (expand-file-name it (getenv "CAIRN_TEST_FOLDER"))))
                         '("1" "2" "3")))
    (cairn-test-fail "not the command that was allowed"))
  (cairn-test-plan)
  (goto-char (point-min))
  (cairn-test-review)
  (cairn-test-wait "rejection" (lambda () (equal (buffer-string) "😀 1 two\ntwo\nthree\nfive\n")))
  (cairn-test-stop)
  (kill-emacs 0))

(defun cairn-test-count (text)
  (seq-count (lambda (it) (string-search text it)) cairn-test-said))

(defun cairn-test-stop ()
  "Cancel a task while its question is open."
  (setq cairn-test-answers (list (lambda () (cairn-stop) "")))
  (cairn-reply "Go on")
  (cairn-test-wait "end" (lambda () (cairn-test-said "Stopped.")))
  (when (file-exists-p (expand-file-name "4" (getenv "CAIRN_TEST_FOLDER")))
    (cairn-test-fail "it ran")))

" Double of vim-lsp's autoload/lsp/ui/vim/execute_command.vim.
function! lsp#ui#vim#execute_command#_execute(params) abort
  call add(g:sent, a:params)
endfunction

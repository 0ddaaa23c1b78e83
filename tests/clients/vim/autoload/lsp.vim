" Double of the functions of vim-lsp (autoload/lsp.vim) that the recipe calls.
function! lsp#register_server(info) abort
  let g:server = a:info
endfunction
function! lsp#register_notifications(name, callback) abort
  let g:callback = {'callback': a:callback}
endfunction

" Runs a recipe of docs/editors.md in Vim with doubles of the plugins, and writes what they were
" given. Done by tests/suite/vim.rs.
let g:sent = []
let g:added = []
function! LspAddServer(servers) abort
  let g:added = a:servers
endfunction
function! CocRequestAsync(...) abort
  call add(g:sent, a:000)
endfunction
try
  execute 'source' $CAIRN_TEST_RECIPE
  silent! doautocmd User lsp_setup
  Cairn add a "test" | here
  CairnStop
  if exists('g:callback')
    " As vim-lsp's s:on_notification calls it, for each message.
    call g:callback.callback('cairn', {'response': {'method': 'window/logMessage',
      \ 'params': {'type': 3, 'message': 'Plan 1/2'}}})
    call g:callback.callback('cairn', {'response': {'id': 1, 'result': v:null}, 'request': {}})
    call g:callback.callback('other', {'response': {'method': 'window/logMessage',
      \ 'params': {'type': 3, 'message': 'no'}}})
  endif
catch
  call add(g:sent, v:exception .. v:throwpoint)
endtry
let s:messages = filter(split(execute('messages'), "\n"), 'v:val =~# "^Cairn"')
let s:servers = exists('g:server') ? [g:server] : g:added
call writefile([json_encode({'sent': g:sent, 'servers': s:servers, 'messages': s:messages})],
  \ $CAIRN_TEST_OUTPUT)
qall!

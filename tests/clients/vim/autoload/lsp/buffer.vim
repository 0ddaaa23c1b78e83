vim9script
# Double of the function of yegappan/lsp (autoload/lsp/buffer.vim) that the recipe calls; a server has
# `name` and `executeCommand` (autoload/lsp/lspserver.vim).
def Execute(server: dict<any>, command: dict<any>)
  g:sent->add(command)
enddef
export def CurbufGetServers(): list<dict<any>>
  var other: dict<any> = {name: 'pylsp'}
  var server: dict<any> = {name: 'cairn'}
  server->extend({executeCommand: function(Execute, [server])})
  return [other, server]
enddef

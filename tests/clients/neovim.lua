-- A task and its review in Neovim, with nothing but what its own LSP client has. Done by
-- tests/suite/neovim.rs; says what is wrong and exits with 1, or exits with 0.

local cairn = vim.env.CAIRN_TEST_COMMAND
local folder = vim.env.CAIRN_TEST_FOLDER
local script = vim.env.CAIRN_TEST_SCRIPT
local scene = vim.env.CAIRN_TEST_SCENE

local LIMIT_MS = 15000

local said, progress = {}, {}

local function fail(what)
  io.stderr:write('failed: ' .. what .. '\nsaid: ' .. vim.inspect(said) .. '\n')
  vim.cmd('cquit 1')
end

local function wait_for(what, condition)
  if not vim.wait(LIMIT_MS, condition, 10) then
    error('no ' .. what, 2)
  end
end

local function same(what, expected, seen)
  if not vim.deep_equal(expected, seen) then
    error(what .. ': ' .. vim.inspect(expected) .. ' expected, but ' .. vim.inspect(seen), 2)
  end
end

-- What the user reads, beside what Neovim does with it.
local function listen(method, hear)
  local shown = vim.lsp.handlers[method]
  vim.lsp.handlers[method] = function(err, result, ctx, config)
    hear(result)
    return shown(err, result, ctx, config)
  end
end
vim.lsp.handlers['window/showMessage'] = function(_, result)
  table.insert(said, result.message)
  return result
end
listen('$/progress', function(result)
  table.insert(progress, result.value.kind .. ' ' .. (result.value.message or ''))
end)

local function start()
  local config = {
    name = 'cairn',
    cmd = { 'sh', '-c', 'echo $$ >"$0"; exec "$1"', folder .. '/../pid', cairn },
    root_dir = folder,
    init_options = {
      settings = {
        model = { provider = 'replay', replayFile = script },
      },
    },
  }
  -- Neovim 0.8 has a shorter way.
  local id
  if vim.lsp.start then
    id = vim.lsp.start(config)
  else
    id = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(0, id)
  end
  wait_for('answer to initialize', function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.server_capabilities and vim.lsp.buf_is_attached(0, id)
      and client.server_capabilities.executeCommandProvider ~= nil
  end)
  return id
end

local function request(id, method, params)
  local client = vim.lsp.get_client_by_id(id)
  local answered
  local function answer(err, result)
    answered = { err = err, result = result }
  end
  local buffer = vim.api.nvim_get_current_buf()
  if vim.fn.has('nvim-0.11') == 1 then
    client:request(method, params, answer, buffer)
  else
    client.request(method, params, answer, buffer)
  end
  wait_for('answer to ' .. method, function() return answered end)
  return answered
end

local function say(id, command, text)
  local ids = request(id, 'workspace/executeCommand', { command = command, arguments = { text } })
  same('error of ' .. command, nil, ids.err)
  same('type of the id', 'string', type(ids.result.turnId))
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

-- Answers the next question of Neovim with the item of this title.
local function choose(title)
  local chosen
  vim.ui.select = function(items, options, on_choice)
    local titles = {}
    for at, item in ipairs(items) do
      local shown = (options.format_item or tostring)(item)
      table.insert(titles, shown)
      if vim.startswith(shown, title) then
        chosen = shown
        return on_choice(item, at)
      end
    end
    table.insert(said, 'offered: ' .. vim.inspect(titles))
    on_choice(nil, nil)
  end
  return function()
    wait_for('choice of ' .. title, function() return chosen end)
  end
end

local function code_action(line, title)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  local chosen = choose(title)
  vim.lsp.buf.code_action()
  chosen()
end

local function lenses()
  local titles = {}
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    table.insert(titles, lens.range.start.line + 1 .. ' ' .. lens.command.title)
  end
  table.sort(titles)
  return titles
end

local function wait_for_lenses(expected)
  wait_for('lenses ' .. vim.inspect(expected), function()
    vim.lsp.codelens.refresh()
    return vim.deep_equal(lenses(), expected)
  end)
end

local function messages()
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, diagnostic.lnum + 1 .. ' ' .. diagnostic.source .. ' ' .. diagnostic.message)
  end
  table.sort(found)
  return found
end

local function wait_for_end(summary)
  wait_for('end of the turn', function() return vim.tbl_contains(said, summary) end)
end

local scenes = {}

function scenes.review()
  vim.cmd('edit ' .. folder .. '/open.txt')
  local id = start()
  say(id, 'cairn.runTask', 'Count in digits')
  wait_for_end('Both files count in digits now.')
  same('the text', { '1', 'two', 'three', 'four', '5' }, lines())
  -- Steps that come faster than they are shown may be left out.
  wait_for('end of the plan', function() return progress[#progress] == 'end 1/1' end)
  same('how it begins', 'begin ', string.sub(progress[1], 1, 6))
  wait_for('markers', function() return #messages() == 2 end)
  same('the markers', {
    '1 cairn Proposed: +1 −1 lines. Before:\none',
    '5 cairn Proposed: +1 −1 lines. Before:\nfive',
  }, messages())
  wait_for_lenses({
    '1 Accept', '1 Accept file (2)', '1 Reject', '1 Reject file (2)', '5 Accept', '5 Reject',
  })

  code_action(1, 'Accept the change at line 1')
  wait_for_lenses({ '5 Accept', '5 Accept file (1)', '5 Reject', '5 Reject file (1)' })
  same('the text', { '1', 'two', 'three', 'four', '5' }, lines())

  code_action(5, 'Reject the change at line 5')
  wait_for('rejection', function() return #messages() == 0 end)
  wait_for_lenses({})
  vim.cmd('write')
  same('the disk', { '1', 'two', 'three', 'four', 'five' }, vim.fn.readfile(folder .. '/open.txt'))

  -- A file that was in no buffer is on disk at once, and can be reviewed when it is opened.
  same('the disk', { 'uno', '2' }, vim.fn.readfile(folder .. '/closed.txt'))
  vim.cmd('edit ' .. folder .. '/closed.txt')
  vim.lsp.buf_attach_client(0, id)
  wait_for_lenses({ '2 Accept', '2 Accept file (1)', '2 Reject', '2 Reject file (1)' })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  local chosen = choose('Reject')
  vim.lsp.codelens.run()
  chosen()
  wait_for('rejection', function() return #messages() == 0 end)
  same('the text', { 'uno', 'dos' }, lines())

  -- And back again.
  request(id, 'workspace/executeCommand', { command = 'cairn.undoDecision' })
  wait_for('undo', function() return #messages() == 1 end)
  same('the text', { 'uno', '2' }, lines())
  request(id, 'workspace/executeCommand', { command = 'cairn.rejectAll', arguments = { {} } })
  wait_for('rejection', function() return #messages() == 0 end)
  same('the text', { 'uno', 'dos' }, lines())
  request(id, 'workspace/executeCommand', { command = 'cairn.acceptAll' })
  wait_for('word', function()
    return vim.tbl_contains(said, 'Cairn: Nothing is pending there')
  end)
  local wrong = request(id, 'workspace/executeCommand', {
    command = 'cairn.acceptHunk', arguments = { { uri = vim.uri_from_bufnr(0) } },
  })
  same('the error', -32602, wrong.err.code)
end

-- The user types in the very moment an edit comes. Not one letter of theirs is lost, and the edit
-- does not land beside its place.
function scenes.typing()
  vim.cmd('edit ' .. folder .. '/open.txt')
  local id = start()
  -- Neovim numbers versions from the first change on.
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'zero' })
  local apply, typed = vim.lsp.handlers['workspace/applyEdit'], false
  vim.lsp.handlers['workspace/applyEdit'] = function(...)
    if not typed then
      typed = true
      vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'typed', 'typed' })
    end
    return apply(...)
  end
  say(id, 'cairn.runTask', 'Count in digits')
  wait_for_end('Both files count in digits now.')
  same('typed', true, typed)
  same('the text', { 'typed', 'typed', 'zero', '1', 'two', 'three', 'four', '5' }, lines())
end

-- A command runs when the user allowed it, and not when they turned away.
function scenes.allowing()
  vim.cmd('edit ' .. folder .. '/open.txt')
  local id = start()
  local answers, asked = { 1, 0, 2 }, {}
  vim.fn.inputlist = function(shown)
    table.insert(asked, shown[1])
    return table.remove(answers, 1)
  end
  vim.ui.select = function(items, options, on_choice)
    table.insert(asked, options.prompt)
    on_choice(items[table.remove(answers, 1)])
  end
  say(id, 'cairn.runTask', 'Make three files')
  wait_for_end('One file was made.')
  same('number of questions', 3, #asked)
  if not string.find(asked[1], 'Run a command: .*\ntouch 1\n') then
    error('not the question: ' .. asked[1])
  end
  same('files', { 0, 0, 1 }, vim.tbl_map(function(name)
    return vim.fn.filereadable(folder .. '/' .. name)
  end, { '1', '2', '3' }))
end

-- To Neovim there is no line after the last line break.
function scenes.last_line()
  vim.cmd('edit ' .. folder .. '/open.txt')
  local id = start()
  say(id, 'cairn.runTask', 'Count in digits')
  wait_for_end('Both files count in digits now.')
  same('the text', { 'one', 'two', 'three', 'four', 'five', 'six' }, lines())
  wait_for('markers', function() return #messages() == 1 end)
  code_action(6, 'Accept the change at line 6')
  wait_for('decision', function() return #messages() == 0 end)

  say(id, 'cairn.reply', 'No, only to five')
  wait_for('markers', function() return #messages() == 1 end)
  same('the text', { 'one', 'two', 'three', 'four', 'five' }, lines())
  -- The line that is gone is below the last one there is.
  code_action(5, 'Reject the change at line 5')
  wait_for('decision', function() return #messages() == 0 end)
  same('the text', { 'one', 'two', 'three', 'four', 'five', 'six' }, lines())
  vim.cmd('write')
  same('the disk', lines(), vim.fn.readfile(folder .. '/open.txt'))
end

local done, why = xpcall(scenes[scene], debug.traceback)
if not done then
  fail(why)
end
vim.cmd('qall!')

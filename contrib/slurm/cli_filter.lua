-- hpcenv's part of cli_filter.lua: tells hpcenv's plugin in sbatch, salloc and srun
-- which options Slurm itself understood, so that it knows just where a job can land:
-- also for a script on standard input, and for what this site's cli_filter sets.
--
-- As the site's only filter: CliFilterPlugins=lua, and this file as cli_filter.lua beside
-- slurm.conf. With a filter of your own: keep this file elsewhere, dofile() it at the top
-- of yours, and call hpcenv_cli_record(options) last in slurm_cli_pre_submit. It changes
-- nothing and refuses nothing.

local names = {
	"partition", "constraint", "prefer", "nodelist", "nodefile", "exclude", "nodes", "ntasks", "gres", "gpus", "gpus-per-node", "gpus-per-socket",
	"gpus-per-task", "tres-per-task", "ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-node", "sockets-per-node", "cores-per-socket",
	"threads-per-core", "spread-job", "clusters", "cluster-constraint", "reservation", "no-allocate", "jobid",
}

-- An open file without a name: only this process and its children have it, and it ends
-- with them. Lua alone can set no variable.
local file

local function identity()
	local f = io.open("/proc/self/stat", "r")
	if not f then
		return nil
	end
	local text = f:read("*a")
	f:close()
	local pid, rest = text:match("^(%d+) .*%) (.*)$")
	if not pid then
		return nil
	end
	local n = 0
	for word in rest:gmatch("%S+") do
		n = n + 1
		if n == 20 then
			return pid .. " " .. word
		end
	end
	return nil
end

local function escape(value)
	return (tostring(value):gsub("[%c%%]", function(c)
		return string.format("%%%02X", string.byte(c))
	end))
end

function hpcenv_cli_record(options)
	local program = options["type"]
	if program ~= "sbatch" and program ~= "salloc" and program ~= "srun" then
		return
	end
	if not file then
		local who = identity()
		file = who and io.tmpfile()
		if not file then
			return
		end
		file:write("hpcenv-cli-filter 1 " .. who .. "\n")
	end
	file:write("component " .. program .. "\n")
	-- Only what was set: a number that was not given has a value, too.
	local given = slurm.json_cli_options(options) or ""
	for _, name in ipairs(names) do
		local value = given:find('"' .. name:gsub("%-", "%%-") .. '"%s*:') and options[name]
		if value then
			file:write(name .. "=" .. escape(value) .. "\n")
		end
	end
	file:write("end\n")
	file:flush()
end

function slurm_cli_setup_defaults(options, early)
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
	hpcenv_cli_record(options)
	return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
	return slurm.SUCCESS
end

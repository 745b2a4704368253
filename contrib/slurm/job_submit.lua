-- hpcenv's part of job_submit.lua: holds a job to what its environment was chosen for.
-- When sbatch, salloc or srun chose environments, they knew which partitions and which
-- features the job asked for; the job carries that (HPCENV_SCOPE in its spank
-- environment). A job that has been moved since to where other kinds of node are is
-- refused, with the reason; a job that asks for no features gets those that its
-- environments need.
--
-- As the site's only script: JobSubmitPlugins=lua, and this file as job_submit.lua beside
-- slurm.conf. With a script of your own: keep this file elsewhere, dofile() it at the top
-- of yours, and end your slurm_job_submit with
--     return hpcenv_job_submit(job_desc, part_list)
-- Only with it in place may the inventory say that the cluster is enforced. Changes of
-- jobs by scontrol update are not looked at, nor are lists of nodes and GRES that a script
-- changes.

local marker = "HPCENV_SCOPE="

local function unescape(value)
	return (value:gsub("%%(%x%x)", function(hex)
		return string.char(tonumber(hex, 16))
	end))
end

-- What the job carries, as a table; nil = nothing.
local function carried(job_desc)
	local env = job_desc.spank_job_env
	if env == nil then
		return nil
	end
	for _, entry in pairs(env) do
		-- Some releases put SPANK_ before the name.
		local text = entry:match("^" .. marker .. "(.*)$") or entry:match("^SPANK_" .. marker .. "(.*)$")
		if text and text:sub(1, 2) == "1;" then
			local scope = {}
			for name, value in text:sub(3):gmatch("(%a+)=([^;]*)") do
				scope[name] = unescape(value)
			end
			return scope
		end
	end
	return nil
end

local function default_partition(part_list)
	for name, part in pairs(part_list) do
		if part.flag_default == 1 then
			return name
		end
	end
	return ""
end

local function refuse(text)
	slurm.log_user("hpcenv: " .. text)
	return slurm.ERROR
end

-- Commas and & are one to Slurm.
local function plain(features)
	return ((features or ""):gsub(",", "&"))
end

-- with joins the features that the environments need to those that the job has; nil =
-- Slurm cannot express it.
local function with(features, needed)
	if features == "" then
		return needed
	end
	if features == needed or ("&" .. features .. "&"):find("&" .. needed .. "&", 1, true) then
		return features
	end
	if (features .. needed):find("[%[%]()*]") then
		return nil
	end
	if needed:find("|", 1, true) then
		needed = "(" .. needed .. ")"
	end
	if features:find("|", 1, true) then
		features = "(" .. features .. ")"
	end
	return features .. "&" .. needed
end

function hpcenv_job_submit(job_desc, part_list)
	local scope = carried(job_desc)
	if not scope then
		return slurm.SUCCESS
	end
	if scope.partitions and (job_desc.partition or "") ~= scope.asked then
		local allowed = {}
		for name in scope.partitions:gmatch("[^,]+") do
			allowed[name] = true
		end
		local partition = job_desc.partition
		if partition == nil or partition == "" then
			partition = default_partition(part_list)
		end
		for name in partition:gmatch("[^,]+") do
			if not allowed[name] then
				return refuse("this job was moved to the partition " .. name .. " after its environment had been chosen for the nodes of "
					.. (scope.partitions ~= "" and scope.partitions or "another one") .. "; next: submit it with --partition=" .. name)
			end
		end
	end
	local features = plain(job_desc.features)
	if scope.partitions and features ~= plain(scope.constraint) then
		return refuse("the features of this job were changed from \"" .. (scope.constraint or "") .. "\" to \"" .. features
			.. "\" after its environment had been chosen; next: submit it with --constraint='" .. features .. "'")
	end
	if scope.features and scope.features ~= "" then
		local joined = with(features, plain(scope.features))
		if not joined then
			return refuse("the features that this job's environment needs (" .. scope.features .. ") cannot be joined to --constraint='" .. features
				.. "'; next: submit it with --constraint='" .. scope.features .. "'")
		end
		if joined ~= features then
			job_desc.features = joined
		end
	end
	return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid)
	return hpcenv_job_submit(job_desc, part_list)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
	return slurm.SUCCESS
end

# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion for migratectl: commands and options are those that its help lists.
function __migratectl_command
	for word in (commandline -opc)[2..-1]
		string match -q -- '-*' $word; or begin
			echo $word
			return 0
		end
	end
	return 1
end

function __migratectl_commands
	migratectl --help 2>/dev/null | string replace -rf '^  ([a-z-]+) +(.*)' '$1\t$2'
end

function __migratectl_options
	migratectl (__migratectl_command) --help 2>/dev/null |
		string replace -rf '^  (?:-h, )?(--[a-z-]+=?)\S* +(.*)' '$1\t$2'
end

function __migratectl_volumes
	set -l conf (commandline -opc | string replace -rf '^--config=' '')
	set -q conf[1]; or set conf /etc/quickmigrate/quickmigrate.conf
	test -r $conf[-1]; and string replace -rf '^ *\[ *volume +([^] ]*) *\].*' '$1' <$conf[-1]
end

complete -c migratectl -n 'not __migratectl_command >/dev/null' -f -a '(__migratectl_commands)'
complete -c migratectl -n 'string match -q -- "* cluster " (commandline -pc | string replace -r "\\S*\$" "")' -a 'check config'
complete -c migratectl -n '__migratectl_command >/dev/null' -a '(__migratectl_volumes)'
complete -c migratectl -n 'string match -q -- "-*" (commandline -ct); and __migratectl_command >/dev/null' -f -a '(__migratectl_options)'
complete -c migratectl -n 'string match -q -- "--code=*" (commandline -ct)' -f -a '--code=(migratectl errors --all --summary 2>/dev/null | string match -r "QM[0-9]+")'

-- The accounts of Windhover are the logins of a host. Windhover checks each login over HTTP, and Prosody stores none.
--
--   authentication = "windhover"
--   windhover_auth_url = "http://127.0.0.1:8080/internal/xmpp/auth"
--   windhover_auth_secret = "..."   -- only if Windhover runs on another machine: its WINDHOVER_XMPP_AUTH_SECRET
--   windhover_auth_timeout = 10     -- seconds
--
-- For Prosody 0.12 and newer. PLAIN is the only mechanism, because the password has to reach Windhover. Clients should use TLS.

local async = require "util.async";
local base64 = require "util.encodings".base64;
local http = require "net.http";
local sasl = require "util.sasl";

local url = module:get_option_string("windhover_auth_url", "http://127.0.0.1:8080/internal/xmpp/auth");
local secret = module:get_option_string("windhover_auth_secret");
local timeout = module:get_option_number("windhover_auth_timeout", 10);

-- Returns the status of Windhover's answer, or 0 without an answer in time.
local function ask(login, password, address)
	local waiting, wake = async.waiter();
	local status;
	local function complete(code)
		if status then return; end -- the first of answer and timeout counts
		status = tonumber(code) or 0;
		wake();
	end

	local request = http.request(url, {
		method = "POST";
		body = "";
		headers = {
			["Authorization"] = "Basic "..base64.encode(login..":"..password);
			["X-XMPP-Domain"] = module.host;
			["X-Internal-Secret"] = secret;
			["X-Client-Address"] = address; -- wrong passwords count by address, so that a guesser does not lock out the owner
		};
	}, function (_, code) complete(code); end);
	local timer = module:add_timer(timeout, function ()
		if status then return; end
		if request then http.destroy_request(request); end
		complete(0);
	end);

	waiting();
	timer:stop();
	return status;
end

-- Returns true, or nil and the reason.
local function test_password(login, password, address)
	local status = ask(login, password, address);
	if status >= 200 and status < 300 then return true; end
	if status == 401 or status == 403 then return nil, "Login or password is not right."; end
	module:log("error", "Windhover answered %d at %s: the login of %s cannot be checked", status, url, login);
	return nil, "Logins cannot be checked at the moment.";
end

local managedByWindhover = "Accounts are made and changed in Windhover.";

module:provides("auth", {
	test_password = function (login, password) return test_password(login, password); end;

	get_sasl_handler = function (session)
		return sasl.new(module.host, {
			plain_test = function (_, login, password)
				return test_password(login, password, session and session.ip) == true, true;
			end;
		});
	end;

	-- Windhover does not reveal to strangers which accounts exist.
	user_exists = function () return true; end;
	users = function () return function () end; end;

	create_user = function () return nil, managedByWindhover; end;
	set_password = function () return nil, managedByWindhover; end;
	delete_user = function () return nil, managedByWindhover; end;
});

// Which of its addresses a host should be reached at. Its name is no answer: Debian's /etc/hosts
// maps it to 127.0.1.1.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Of the interface through which messages to `host` leave this machine, as a number; that of the
// loopback device for an address of the machine itself. Empty when there is no way to it.
std::string address_towards(const std::string& host, int port);

bool is_loopback(const std::string& address);

// `own` is what address_towards() the store said here, `all` what it said to every rank. A rank on
// the store's host goes by the way to one on another host; "127.0.0.1" when there is none.
std::string address_among(const std::string& own, const std::vector<std::string>& all);

}  // namespace penstock

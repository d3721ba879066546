#include "network/packet/options.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

namespace {

struct Setter {
    SchemeOption option;
    void (*set)(Settings&, double) = nullptr;
};

void each_limit(Settings& settings, double MarkLimits::* part, double value) {
    if (settings.limits.empty()) {
        settings.limits.push_back({100.0, 0.0, 0.0, 1.0});
    }
    const double gbps = settings.limits.front().gbps;
    for (MarkLimits& limits : settings.limits) {
        limits.*part = part == &MarkLimits::pmax ? value : value * limits.gbps / gbps;
    }
}

std::vector<std::string> names_of_disciplines() {
    std::vector<std::string> names;
    for (const Discipline& discipline : disciplines()) {
        names.push_back(discipline.name);
    }
    return names;
}

std::vector<Setter> setters_of_paces() {
    return {
        {{"payload", "B", 1000.0, 1.0, "Of a full packet."},
         [](Settings& to, double value) { to.payload_bytes = static_cast<u32>(std::min(value, 1e6)); }},
        {{"buffer", "B", 0.0, 1.0, "Of each switch; a link's own wins. By default the preset's."},
         [](Settings& to, double value) { to.buffer_bytes = static_cast<u64>(value); }},
        {{"window", "", 1.0, 0.0, "0: none; 1: one bandwidth-delay product; 2: that in proportion to the rate."},
         [](Settings& to, double value) {
             to.has_window = value >= 1.0;
             to.variable_window = value >= 2.0;
         }},
        {{"one_window", "", 0.0, 0.0, "1: all flows have the largest window and round trip."},
         [](Settings& to, double value) { to.one_window = value != 0.0; }},
        {{"window_bytes", "B", 0.0, 0.0, "Of each message, in place of its bandwidth-delay product; 0: that."},
         [](Settings& to, double value) { to.window_bytes = static_cast<u64>(value); }},
        {{"base_rtt", "ns", 0.0, 0.0, "Of each message, in place of its way's; 0: that."},
         [](Settings& to, double value) { to.base_rtt_ns = value; }},
        {{"max_rtt", "ns", 0.0, 0.0, "Of the network, for HPCC over PINT; 0: the largest of its messages."},
         [](Settings& to, double value) { to.max_rtt_ns = value; }},
        {{"paces_at_rate", "", 1.0, 0.0, "0: packets of a message follow each other at the rate of the line."},
         [](Settings& to, double value) { to.paces_at_rate = value != 0.0; }},
        {{"acks_first", "", 0.0, 0.0, "1: ACKs overtake data and are never paused."},
         [](Settings& to, double value) { to.acks_first = value != 0.0; }},
        {{"pauses", "", 1.0, 0.0, "0: no PFC; what finds no room is dropped."},
         [](Settings& to, double value) { to.pauses = value != 0.0; }},
        {{"marks", "", 1.0, 0.0, "0: no ECN."}, [](Settings& to, double value) { to.marks = value != 0.0; }},
        {{"kmin", "B", 0.0, 0.0, "Waiting bytes above which a port of a host's rate may mark."},
         [](Settings& to, double value) { each_limit(to, &MarkLimits::kmin_bytes, value); }},
        {{"kmax", "B", 0.0, 0.0, "Waiting bytes above which it always marks."},
         [](Settings& to, double value) { each_limit(to, &MarkLimits::kmax_bytes, value); }},
        {{"pmax", "", 0.0, 0.0, "The probability of a mark just below kmax."},
         [](Settings& to, double value) { each_limit(to, &MarkLimits::pmax, value); }},
    };
}

std::vector<Setter> setters_of_queues() {
    return {
        {{"recovery", "", 0.0, 0.0, "How losses are found and sent again; some congestion controls have their own.",
          {"go_back_n", "selective_repeat"}},
         [](Settings& to, double value) {
             to.recovery = value == 0.0 ? RecoveryKind::go_back_n : RecoveryKind::selective_repeat;
         }},
        {{"queue", "", 0.0, 0.0, "Which packet leaves a port of a switch next.", names_of_disciplines()},
         [](Settings& to, double value) { to.queue = disciplines()[static_cast<std::size_t>(value)].name; }},
        {{"trims", "", 0.0, 0.0, "1: what finds no room at a switch loses its payload, and its header goes first."},
         [](Settings& to, double value) { to.trims = value != 0.0; }},
        {{"port_buffer", "B", 0.0, 0.0, "Of data that waits at a port of a switch; 0: as the shared buffer allows."},
         [](Settings& to, double value) { to.port_buffer_bytes = static_cast<u64>(value); }},
        {{"ack_every", "B", 0.0, 0.0,
          "With selective repeat: bytes that a receiver answers with one ACK; marked, first, last and asking packets "
          "have theirs."},
         [](Settings& to, double value) { to.ack_every_bytes = static_cast<u64>(value); }},
        {{"credits", "", 0.0, 0.0,
          "With selective repeat: packets of credit that a receiver grants at a time, as Ultra Ethernet's RCCC; 0: none."},
         [](Settings& to, double value) { to.credits = static_cast<u64>(std::min(value, 1e6)); }},
        {{"credit_rate", "", 0.99, 0.01, "Of the receiver's port, at which it grants."},
         [](Settings& to, double value) { to.credit_rate = value; }},
        {{"credit_window", "", 1.5, 0.01, "Bandwidth-delay products of credit at first and at most."},
         [](Settings& to, double value) { to.credit_window = value; }},
        {{"short_message", "B", 0.0, 0.0, "Messages of up to that size are of the class that goes first."},
         [](Settings& to, double value) { to.short_message = static_cast<u64>(value); }},
        {{"entropies", "", 16.0, 1.0, "Ways over which packets of a message are sprayed, by a routing that does so."},
         [](Settings& to, double value) { to.entropies = static_cast<u32>(std::min(value, 4096.0)); }},
        {{"reordering", "", 1.0, 0.0, "With selective repeat: packets beyond a gap that prove a loss; 0: none do."},
         [](Settings& to, double value) { to.reordering = static_cast<u32>(std::min(value, 1e6)); }},
        {{"retransmission", "ns", 1e6, 1.0, "Silence that is a loss; doubled each time."},
         [](Settings& to, double value) { to.retransmission_ns = value; }},
        {{"sweep_every", "ns", 0.0, 0.0,
          "Between two looks at all queues of switches at once, kept where 1,000 bytes or more wait; 0: none."},
         [](Settings& to, double value) { to.sweep_every_ns = value; }},
        {{"sweep_from", "ns", 0.0, 0.0, "When the first is."},
         [](Settings& to, double value) { to.sweep_from_ns = value; }},
        {{"skip", "", 0.0, 0.0, "Whether flows that never meet, and are alike, are simulated once.", {"auto", "off"}},
         [](Settings& to, double value) { to.skip = value == 0.0 ? Skip::if_possible : Skip::never; }},
        {{"pause", "ns", 1e6, 1.0, "After which a pause is looked at again."},
         [](Settings& to, double value) { to.pause_ns = value; }},
    };
}

const std::vector<Setter>& setters() {
    static const std::vector<Setter> all = [] {
        std::vector<Setter> made = setters_of_paces();
        for (const Setter& setter : setters_of_queues()) {
            made.push_back(setter);
        }
        return made;
    }();
    return all;
}

std::string names_of(const Scheme& scheme, const Discipline* queue) {
    std::string names;
    for (const Setter& setter : setters()) {
        names += (names.empty() ? "" : ", ") + setter.option.name;
    }
    for (const SchemeOption& option : scheme.options) {
        names += ", " + option.name;
    }
    for (const SchemeOption& option : queue->options) {
        names += ", " + option.name;
    }
    return names;
}

void check_least(const SchemeOption& option, double value) {
    if (!(value >= option.least) || !std::isfinite(value)) {
        throw std::invalid_argument(option.name + ": at least " + std::to_string(option.least) +
                                    (option.unit.empty() ? "" : " " + option.unit) + " is expected, not " +
                                    std::to_string(value));
    }
    if (!option.choices.empty() && !(value < static_cast<double>(option.choices.size()) && std::floor(value) == value)) {
        throw std::invalid_argument(option.name + ": one of its names is expected");
    }
}

// NAME@GBPS; other ports have those of the nearest rate.
void change_limits(Settings& settings, const std::map<std::string, double>& options) {
    constexpr double open_pmax = 1.0;
    std::map<double, MarkLimits> by_rate;
    for (const auto& [name, value] : options) {
        const std::size_t at = name.find('@');
        if (at == std::string::npos) {
            continue;
        }
        const std::string part = name.substr(0, at);
        const double gbps = std::stod(name.substr(at + 1));
        if (!(gbps > 0.0) || (part != "kmin" && part != "kmax" && part != "pmax")) {
            throw std::invalid_argument(name + ": only kmin, kmax and pmax go by rates above 0");
        }
        MarkLimits& limits = by_rate.emplace(gbps, MarkLimits{gbps, -1.0, -1.0, -1.0}).first->second;
        (part == "kmin" ? limits.kmin_bytes : part == "kmax" ? limits.kmax_bytes : limits.pmax) = value;
    }
    std::vector<MarkLimits> made;
    for (auto& [gbps, limits] : by_rate) {
        MarkLimits before = settings.limits_of(static_cast<u64>(gbps * 1e9 + 0.5));
        before.pmax = settings.limits.empty() ? open_pmax : before.pmax;
        limits.kmin_bytes = limits.kmin_bytes < 0.0 ? before.kmin_bytes : limits.kmin_bytes;
        limits.kmax_bytes = limits.kmax_bytes < 0.0 ? std::max(before.kmax_bytes, limits.kmin_bytes) : limits.kmax_bytes;
        limits.pmax = limits.pmax < 0.0 ? before.pmax : limits.pmax;
        made.push_back(limits);
    }
    if (!made.empty()) {
        settings.limits = std::move(made);
    }
}

template <class List, class Of>
auto named(const List& list, const std::string& name, Of&& of) {
    return std::find_if(list.begin(), list.end(), [&](const auto& one) { return of(one) == name; });
}

const SchemeOption* option_of(const std::vector<SchemeOption>& options, const std::string& name) {
    const auto found = named(options, name, [](const SchemeOption& o) { return o.name; });
    return found == options.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<SchemeOption>& network_options() {
    static const std::vector<SchemeOption> all = [] {
        std::vector<SchemeOption> options;
        for (const Setter& setter : setters()) {
            options.push_back(setter.option);
        }
        return options;
    }();
    return all;
}

void change(Settings& settings, const std::map<std::string, double>& options) {
    const Scheme& scheme = scheme_named(settings.congestion_control);
    change_limits(settings, options);
    if (const auto queue = options.find("queue"); queue != options.end()) {   // its options depend on it
        const auto own = named(setters(), queue->first, [](const Setter& s) { return s.option.name; });
        check_least(own->option, queue->second);
        own->set(settings, queue->second);
    }
    const Discipline* queue = find_discipline(settings.queue);
    for (const auto& [name, value] : options) {
        if (name.find('@') != std::string::npos) {
            continue;
        }
        const auto own = named(setters(), name, [](const Setter& s) { return s.option.name; });
        if (own != setters().end()) {
            check_least(own->option, value);
            own->set(settings, value);
            continue;
        }
        const SchemeOption* theirs = option_of(scheme.options, name);
        theirs = theirs == nullptr ? option_of(queue->options, name) : theirs;
        if (theirs == nullptr) {
            throw std::invalid_argument(name + ": not an option of packets under " + scheme.name + " and " +
                                        queue->name + "; expected one of " + names_of(scheme, queue));
        }
        check_least(*theirs, value);
        settings.options[name] = value;
    }
    for (const MarkLimits& limits : settings.limits) {
        if (limits.kmin_bytes > limits.kmax_bytes || limits.pmax > 1.0) {
            throw std::invalid_argument("kmin, kmax and pmax: kmin up to kmax and pmax up to 1 are expected");
        }
    }
}

void check_scheme(const Settings& settings) {
    const Scheme& scheme = scheme_named(settings.congestion_control);
    if (scheme.needs_window && !settings.has_window) {
        throw std::invalid_argument(scheme.name + " needs a window; leave it on");
    }
    if (find_discipline(settings.queue) == nullptr) {
        throw std::invalid_argument("no queue discipline is named '" + settings.queue + "'");
    }
    if (settings.quirks != 0 && settings.queue != "fifo") {
        throw std::invalid_argument("the ns-3 fork knows the queue fifo alone; take that, or the semantics yantra");
    }
    if (scheme.recovery ? settings.recovery != *scheme.recovery : settings.recovery == RecoveryKind::duplicate_acks) {
        throw std::invalid_argument(scheme.name + " finds losses in its own way; leave recovery to it");
    }
    if ((settings.trims || settings.ack_every_bytes != 0) && settings.recovery != RecoveryKind::selective_repeat) {
        throw std::invalid_argument("trims and ack_every are for receivers of any order; take recovery selective_repeat, "
                                    "or 0 for both");
    }
    if (settings.ack_every_bytes != 0 && settings.reordering != 0) {
        throw std::invalid_argument("with ack_every losses are found by trims or silence, not by order; take reordering 0, "
                                    "or ack_every 0");
    }
    if (settings.credits != 0 && settings.recovery != RecoveryKind::selective_repeat) {
        throw std::invalid_argument("credits are for receivers of any order; take recovery selective_repeat, or credits 0");
    }
    if (settings.quirks != 0 && settings.recovery != RecoveryKind::go_back_n) {
        throw std::invalid_argument("the ns-3 fork knows go_back_n alone; take recovery go_back_n, or the semantics yantra");
    }
}

}  // namespace yantra::packet

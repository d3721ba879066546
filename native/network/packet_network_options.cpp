#include "network/packet_network_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "network/packet/border.hpp"
#include "network/packet/options.hpp"
#include "network/packet/presets.hpp"
#include "network/packet/queue_discipline.hpp"

namespace yantra {

namespace {

// All others change a preset (network/packet/options.hpp).
constexpr std::array<std::string_view, 11> own_options = {"preset", "congestion_control", "window", "payload", "buffer",
                                                         "semantics", "seed", "look", "look_every", "skip", "threads"};

bool is_own(const std::string& name) {
    return std::find(own_options.begin(), own_options.end(), name) != own_options.end();
}

bool is_choice(const std::string& name) {
    const std::vector<packet::SchemeOption>& all = packet::network_options();
    return std::any_of(all.begin(), all.end(),
                       [&name](const auto& option) { return option.name == name && !option.choices.empty(); });
}

template <class List>
std::vector<std::string> choices_of(const List& all, std::string first) {
    std::vector<std::string> names = {std::move(first)};
    for (const auto& one : all) {
        names.push_back(one.name);
    }
    return names;
}

std::vector<std::string> counts_of_threads() {
    std::vector<std::string> names = {"auto"};
    for (u32 threads = 1; threads <= packet::most_parts; ++threads) {
        names.push_back(std::to_string(threads));
    }
    return names;
}

std::vector<NetworkOption> own_network_options() {
    return {
        {"preset", "", 0.0, 0.0, "a congestion control and all that goes with it",
         choices_of(packet::presets(), "of_congestion_control")},
        {"congestion_control", "", 0.0, 0.0, "by itself, or in place of the preset's",
         choices_of(packet::schemes(), "of_preset")},
        {"window", "", 0.0, 0.0, "what a message may have under way",
         {"of_preset", "unlimited", "static", "variable"}},
        {"payload", "B", 0.0, 0.0, "of a full packet; 0: 1,000"},
        {"buffer", "B", 0.0, 0.0, "of a switch; 0: as the preset says"},
        {"semantics", "", 0.0, 0.0, "what one would want, or what the ns-3 fork does", {"yantra", "ns3_fork"}},
        {"seed", "", 0.0, 0.0, "of marks that are drawn"},
        {"look", "", 1.0, 0.0, "what is kept of queues, pauses, marks and rates over time, and of each message",
         {"nothing", "samples", "changes"}},
        {"skip", "", 0.0, 0.0, "whether steps that repeat are simulated once, with equal results",
         {"auto", "off", "required"}},
        {"threads", "", 0.0, 0.0, "that part the fabric's switches, with equal results; auto: as many as gain",
         counts_of_threads()},
        {"look_every", "ns", 0.0, 0.0, "between samples; 0: 100 ns, and more where they become many"},
    };
}

NetworkOption change_of(const packet::SchemeOption& option, const std::string& of) {
    constexpr double not_given = std::numeric_limits<double>::quiet_NaN();
    std::string help = option.help.substr(0, option.help.find_last_not_of('.') + 1);
    help[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(help[0])));
    std::vector<std::string> choices = option.choices;
    if (!choices.empty()) {
        choices.insert(choices.begin(), "of_preset");
        return {option.name, "", 0.0, 0.0, of.empty() ? help : of + ": " + help, choices};
    }
    const bool by_rate = option.name == "kmin" || option.name == "kmax" || option.name == "pmax";
    return {option.name, option.unit, not_given, option.least, of.empty() ? help : of + ": " + help, {}, by_rate};
}

}  // namespace

// Value 0 defers to the other.
packet::Settings packet_settings_of(const std::map<std::string, double>& options, double host_gbps) {
    const auto number = [&options](const char* name) {
        const auto found = options.find(name);
        return found == options.end() ? 0.0 : found->second;
    };
    const auto at = [&number](const char* name) { return static_cast<std::size_t>(number(name)); };
    const std::size_t scheme = at("congestion_control");
    const std::string name = scheme == 0 ? "" : packet::schemes()[scheme - 1].name;
    const std::size_t preset = at("preset");
    const std::string of_preset = preset > 0       ? packet::presets()[preset - 1].name
                                  : scheme > 0 ? packet::preset_of(name)
                                               : "static_window";
    std::map<std::string, double> changed;
    for (const auto& [option, value] : options) {
        if (is_own(option)) {
            continue;
        }
        if (!is_choice(option)) {
            changed[option] = value;
        } else if (value > 0.0) {   // 0 leaves it to the preset
            changed[option] = value - 1.0;
        }
    }
    for (const char* option : {"payload", "buffer"}) {
        if (number(option) > 0.0) {
            changed[option] = number(option);
        }
    }
    if (at("window") > 0) {
        changed["window"] = static_cast<double>(at("window") - 1);
    }
    packet::Settings made = packet::settings_of(of_preset, host_gbps, name, changed);
    made.quirks = at("semantics") == 1 ? packet::all_quirks : 0;
    made.seed = at("seed");
    made.look = static_cast<packet::Look>(at("look"));
    made.skip = static_cast<packet::Skip>(at("skip"));
    made.look_every_ns = number("look_every");
    return made;
}

std::vector<NetworkOption> packet_network_options() {
    std::vector<NetworkOption> made = own_network_options();
    for (const packet::SchemeOption& option : packet::network_options()) {
        if (!is_own(option.name)) {
            made.push_back(change_of(option, ""));
        }
    }
    std::vector<std::string> names;
    std::map<std::string, std::pair<std::string, packet::SchemeOption>> of_schemes;
    for (const packet::Scheme& scheme : packet::schemes()) {
        for (const packet::SchemeOption& option : scheme.options) {
            auto [at, is_new] = of_schemes.try_emplace(option.name, scheme.name, option);
            if (is_new) {
                names.push_back(option.name);
                continue;
            }
            ensure(at->second.second.unit == option.unit, "two options of congestion controls of one name and two units");
            at->second.first += ", " + scheme.name;
            at->second.second.least = std::min(at->second.second.least, option.least);
        }
    }
    for (const std::string& name : names) {
        made.push_back(change_of(of_schemes[name].second, of_schemes[name].first));
    }
    for (const packet::Discipline& discipline : packet::disciplines()) {
        for (const packet::SchemeOption& option : discipline.options) {
            made.push_back(change_of(option, discipline.name));
        }
    }
    return made;
}

}  // namespace yantra

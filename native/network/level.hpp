// NetworkLevel: what a network declares. Each registers in its own file (`const
// RegisteredNetwork`).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "network/network.hpp"
#include "network/option.hpp"
#include "network/parameters.hpp"
#include "network/traits.hpp"
#include "network/ways.hpp"

namespace yantra {

enum class NetworkFolding : u8 {
    unknown,
    messages_never_wait,       // time depends only on ends and size
    ports_by_class,            // the same if links carry anything at once; else messages take turns on ranks' links
    links_by_class,            // messages wait only for links: fold/runtime/folded_links.hpp keeps them
    shares_links,              // messages share links, in any order: make_over() has one of a class
};

enum class FlowLists : u8 {
    as_messages,   // each flow a message, possible on every level
    alone,         // latency and bytes; nothing is simulated
    stored,        // flows cross each link whole, one after the other (network/flow/flow_run.hpp)
    shared,        // max-min fair
    packets,       // flows go as packets, with their own settings
};

}  // namespace yantra

namespace yantra::inline YANTRA_RUN {

struct NetworkLevel {
    using Make = std::unique_ptr<NetworkModel> (*)(const NetworkSetup&);

    using MakeOver = std::unique_ptr<NetworkModel> (*)(const NetworkSetup&, std::unique_ptr<Ways>);

    std::string name;
    std::string help;          // one line
    Make make = nullptr;
    MakeOver make_over = nullptr;   // with `shares_links`: over these links and ways
    NetworkFolding folding = NetworkFolding::unknown;
    NetworkTraits traits{};
    // Higher is nearer to a real network; 0: a bound.
    u32 detail = 0;
    FlowLists flow_lists = FlowLists::as_messages;
    std::vector<NetworkOption> options{};
    std::vector<NetworkOption> (*later_options)() = nullptr;  // that depend on what others register
    // Throws std::invalid_argument for incompatible options.
    void (*check)(const std::map<std::string, double>& options) = nullptr;
};

const std::vector<NetworkLevel>& network_levels();
// Null if unknown.
const NetworkLevel* find_network_level(std::string_view name);

struct RegisteredNetwork {
    [[gnu::cold]] explicit RegisteredNetwork(NetworkLevel level);
};

std::unique_ptr<NetworkModel> make_network(const NetworkSetup& setup);

}  // namespace yantra

// NetworkLevel: what a network says of itself, and how it is made.
//
// Each level registers itself in its own file (`const RegisteredNetwork`), so a new one is a file and
// nothing else. Registering happens while the module is loaded; afterwards the list never changes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "network/network.hpp"
#include "network/option.hpp"
#include "network/parameters.hpp"
#include "network/traits.hpp"
#include "network/ways.hpp"

namespace yantra {

// What folding may rely on. A level that says nothing is run whole.
enum class NetworkFolding : u8 {
    unknown,
    messages_never_wait,       // the time of a message follows from its ends and its size alone
    ports_by_class,            // the same, unless links carry anything at once: else messages take turns on links of ranks
    links_by_class,            // messages wait for links alone: fold/runtime/folded_links.hpp keeps them
    shares_links,              // messages share links, in whatever order they come: make_over() has one of a class
};

// How a list of flows runs on it alone, without a job.
enum class FlowLists : u8 {
    as_messages,   // a flow is a message of a job: what every level can do
    alone,         // each takes its latency and its bytes: nothing is simulated
    stored,        // flows cross each link whole, one after the other (network/flow/flow_run.hpp)
    shared,        // flows share links max-min fairly
    packets,       // flows go as packets, with settings of their own
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
    // How much it models: of two levels, the one with more is nearer to a real network. 0 is a bound.
    u32 detail = 0;
    FlowLists flow_lists = FlowLists::as_messages;
    Vector<NetworkOption> options{};
    Vector<NetworkOption> (*later_options)() = nullptr;   // that depend on what others register
    // std::invalid_argument for options that do not go together, before there is anything to run.
    void (*check)(const std::map<std::string, double>& options) = nullptr;
};

// All levels, by name.
const Vector<NetworkLevel>& network_levels();
// Null if there is none of that name.
const NetworkLevel* find_network_level(std::string_view name);

struct RegisteredNetwork {
    [[gnu::cold]] explicit RegisteredNetwork(NetworkLevel level);
};

// The network that the parameters name.
std::unique_ptr<NetworkModel> make_network(const NetworkSetup& setup);

}  // namespace yantra

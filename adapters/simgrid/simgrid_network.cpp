// SimGrid as a network: its flows share links max-min fairly (CM02), each after the latency of its route.
//
// A message is an actor that sleeps for the latency of its route and then sends its bytes between two hosts, whose
// route are the links that Yantra gave. Links have no latency of their own, so that SimGrid shares rates
// equally and not by round trip; configure() has the settings.
// Trade-off: all messages under way are actors, each with a stack; SimGrid solves shares anew at each change.
// Source: Velho, Schnorr, Casanova, Legrand, "On the validity of flow-level TCP network models", TOMACS 2013.
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../cpp/lines.hpp"

namespace sg4 = simgrid::s4u;
using namespace yantra_lines;

namespace {

constexpr double ps_per_s = 1e12;
constexpr double no_limit = 1e30;   // bytes/s of a link that takes no time
constexpr std::size_t hosts = 1024;   // its table of routes then takes 8 MB

Time picoseconds(double seconds) { return static_cast<Time>(std::llround(seconds * ps_per_s)); }
double seconds(Time at) { return static_cast<double>(at) / ps_per_s; }

class Network {
public:
    explicit Network(const Fabric& fabric) : fabric_(fabric) {
        zone_ = sg4::create_full_zone("fabric");
        for (std::size_t at = 0; at < hosts; ++at) {
            hosts_.push_back(zone_->create_host("host" + std::to_string(at), 1e9));
        }
        for (std::size_t at = 0; at < fabric.links.size(); ++at) {
            const double rate = fabric.links[at].bytes_per_ns * 1e9;
            sg4::Link* link = zone_->create_link("l" + std::to_string(at), std::isinf(rate) ? no_limit : rate);
            links_.push_back(link->set_latency(0.0)->seal());
        }
    }

    // Runs in an actor of its own, beside those of messages.
    void converse() {
        changed_ = sg4::ConditionVariable::create();
        lock_ = sg4::Mutex::create();
        std::cout << "ready 1" << std::endl;
        Time until = 0;
        while (read_up_to_advance(std::cin, until, [this](const Message& message) { send(message); })) {
            std::cout << advance(until) << std::flush;
        }
    }

private:
    struct Ends {
        sg4::Host* from = nullptr;
        sg4::Host* to = nullptr;
    };

    void send(const Message& message) {
        const Ends& ends = ends_of(message.route);
        double latency_s = 0.0;
        for (int link : message.route) {
            latency_s += fabric_.links[static_cast<std::size_t>(link)].latency_ns * 1e-9;
        }
        ++under_way_;
        const double at_s = seconds(message.at);
        sg4::Actor::create("message", ends.from, [=, this, number = message.number, bytes = message.bytes] {
            sg4::this_actor::sleep_until(at_s);
            sg4::this_actor::sleep_for(latency_s);
            sg4::Comm::sendto(ends.from, ends.to, bytes);
            arrived_.push_back(number);
            changed_->notify_all();
        });
    }

    // SimGrid has one route from a host to another, ranks may have several, and hosts cannot be made while it runs. So
    // its hosts are no devices: each route has a pair of them to itself.
    const Ends& ends_of(const std::vector<int>& route) {
        const auto [known, is_new] = ends_.try_emplace(route);
        if (is_new) {
            next_pair_ += next_pair_ % (hosts + 1) == 0 ? 1 : 0;   // not to itself
            if (next_pair_ >= hosts * hosts) {
                throw Refusal("messages take more than a million different routes");
            }
            known->second = {hosts_[next_pair_ / hosts], hosts_[next_pair_ % hosts]};
            ++next_pair_;
            std::vector<sg4::LinkInRoute> links;
            for (int link : route) {
                links.emplace_back(links_[static_cast<std::size_t>(link)]);
            }
            const auto [from, to] = known->second;
            zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, links, false);
        }
        return known->second;
    }

    // Sleeps up to a time, or until messages arrive.
    Answer advance(Time until) {
        const std::unique_lock<sg4::Mutex> held(*lock_);
        if (arrived_.empty() && until == never && under_way_ > 0) {
            changed_->wait(held);
        } else if (arrived_.empty() && until != never && until > clock_) {
            changed_->wait_until(held, seconds(until));
        }
        sg4::this_actor::yield();   // others of the same time are told together
        Answer answer;
        answer.arrived.swap(arrived_);
        under_way_ -= answer.arrived.size();
        const bool is_there = answer.arrived.empty() && until != never;
        answer.clock = is_there ? until : std::max(clock_, picoseconds(sg4::Engine::get_clock()));
        answer.clock = std::min(answer.clock, until);
        answer.next = under_way_ > 0 ? answer.clock : never;
        clock_ = answer.clock;
        return answer;
    }

    const Fabric& fabric_;
    sg4::NetZone* zone_ = nullptr;
    std::vector<sg4::Host*> hosts_;
    std::vector<sg4::Link*> links_;
    std::size_t next_pair_ = 0;
    std::map<std::vector<int>, Ends> ends_;   // by route
    sg4::ConditionVariablePtr changed_;
    sg4::MutexPtr lock_;
    std::vector<std::uint64_t> arrived_;
    std::size_t under_way_ = 0;
    Time clock_ = 0;
};

void configure() {
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/latency-factor:1");
    sg4::Engine::set_config("network/bandwidth-factor:1");
    sg4::Engine::set_config("network/weight-S:0");
    sg4::Engine::set_config("network/crosstraffic:0");
    sg4::Engine::set_config("network/TCP-gamma:0");
    sg4::Engine::set_config("surf/precision:1e-12");
    sg4::Engine::set_config("maxmin/precision:1e-6");
    sg4::Engine::set_config("contexts/stack-size:64");   // KiB; actors only sleep and send
}

}  // namespace

int main(int argc, char** argv) {
    return told([&] {
        xbt_log_control_set("xbt_cfg.thres:error");   // which tells of every setting
        sg4::Engine engine(&argc, argv);
        if (argc > 1) {
            throw Refusal(std::string("it has no argument ") + argv[1]);
        }
        configure();
        Fabric fabric;
        if (!read_fabric(std::cin, fabric)) {
            return;
        }
        if (!fabric.gives_routes) {
            throw Refusal("SimGrid knows no routes of its own; set routes: given");
        }
        Network network(fabric);
        sg4::Actor::create("yantra", engine.get_all_hosts().front(), [&network] {
            const int status = told([&network] { network.converse(); });
            std::cout.flush();
            std::_Exit(status);   // SimGrid would wait for messages that are under way
        });
        engine.run();
    });
}

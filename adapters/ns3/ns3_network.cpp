// Mainline ns-3 as a network: every message is a TCP connection of its own over point-to-point links.
//
// Ranks, switches and NICs are nodes that forward IP; two links that join the same devices in both directions are
// one point-to-point channel. A message is a bulk send of its bytes, from the handshake on, and has arrived when the
// receiver's application has all of them. Everything else is ns-3's default, CUBIC and FqCoDel, and may be set
// as in any ns-3 program: `--ns3::TcpL4Protocol::SocketType=ns3::TcpNewReno`.
// Trade-off: packets, queues and timers are simulated, so a megabyte takes milliseconds; routes are shortest by hops, the
// first of several equal ones. Applications stay when a message is through, so memory grows with messages.
// Source: ns-3 3.37, its models internet, point-to-point and applications.
// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cmath>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../cpp/lines.hpp"

using yantra_lines::Answer;
using yantra_lines::Fabric;
using yantra_lines::Message;
using yantra_lines::Refusal;

namespace {

constexpr int first_port = 1024;
constexpr int last_port = 65'000;

void stop() { ns3::Simulator::Stop(); }

class Network {
public:
    explicit Network(const Fabric& fabric) {
        nodes_.Create(static_cast<std::uint32_t>(fabric.kinds.size()));
        ns3::InternetStackHelper().Install(nodes_);
        ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
        for (const auto& [there, back] : pairs(fabric)) {
            addresses.Assign(cable(there, back));
            addresses.NewNetwork();
        }
        ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    void send(const Message& message) {
        ++under_way_;
        const ns3::Time delay = ns3::PicoSeconds(static_cast<std::int64_t>(message.at)) - ns3::Simulator::Now();
        ns3::Simulator::Schedule(delay, &Network::begin, this, message);
    }

    // Runs up to a time, or to the first arrival.
    Answer advance(yantra_lines::Time until) {
        const bool is_bounded = until != yantra_lines::never;
        ns3::EventId end;
        if (is_bounded && arrived_.empty() && until > now()) {
            const ns3::Time left = ns3::PicoSeconds(static_cast<std::int64_t>(until)) - ns3::Simulator::Now();
            end = ns3::Simulator::Schedule(left, &stop);
        }
        if (arrived_.empty() && (!is_bounded || until > now())) {
            ns3::Simulator::Run();
        }
        end.Cancel();
        Answer answer;
        answer.arrived.swap(arrived_);
        under_way_ -= answer.arrived.size();
        answer.clock = now();
        const bool has_run_out = answer.arrived.empty() && !is_bounded;
        answer.next = under_way_ > 0 && !has_run_out ? answer.clock : yantra_lines::never;
        return answer;
    }

private:
    struct Transit {
        std::uint64_t number;
        std::uint64_t left;   // bytes
    };

    using Pair = std::pair<yantra_lines::Link, yantra_lines::Link>;

    // Each link with one that leads back.
    static std::vector<Pair> pairs(const Fabric& fabric) {
        std::map<std::pair<int, int>, std::list<yantra_lines::Link>> lone;
        std::vector<Pair> found;
        for (const yantra_lines::Link& link : fabric.links) {
            if (std::isinf(link.bytes_per_ns)) {
                throw Refusal("a link takes no time for its bytes, and those of ns-3 have a rate");
            }
            std::list<yantra_lines::Link>& back = lone[{link.to, link.from}];
            if (back.empty()) {
                lone[{link.from, link.to}].push_back(link);
                continue;
            }
            if (back.front().latency_ns != link.latency_ns) {
                throw Refusal("two ways of a cable differ in latency, and a point-to-point channel has one");
            }
            found.emplace_back(back.front(), link);
            back.pop_front();
        }
        for (const auto& [ends, links] : lone) {
            if (!links.empty()) {
                throw Refusal("the link from device " + std::to_string(ends.first) + " to " + std::to_string(ends.second) +
                              " has none that leads back, and a point-to-point channel has both");
            }
        }
        return found;
    }

    ns3::NetDeviceContainer cable(const yantra_lines::Link& there, const yantra_lines::Link& back) const {
        ns3::PointToPointHelper helper;
        helper.SetChannelAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(std::llround(there.latency_ns * 1000))));
        ns3::NetDeviceContainer devices = helper.Install(nodes_.Get(static_cast<std::uint32_t>(there.from)),
                                                         nodes_.Get(static_cast<std::uint32_t>(there.to)));
        devices.Get(0)->SetAttribute("DataRate", rate(there));
        devices.Get(1)->SetAttribute("DataRate", rate(back));
        return devices;
    }

    static ns3::DataRateValue rate(const yantra_lines::Link& link) {
        return ns3::DataRateValue(ns3::DataRate(static_cast<std::uint64_t>(std::llround(link.bytes_per_ns * 8e9))));
    }

    // Starts a receiver at a port of its own, and then the sender.
    void begin(Message message) {
        int& port = ports_[message.to];
        port = port == 0 ? first_port : port + 1;
        if (port > last_port) {
            throw Refusal("more than 60,000 messages to one rank, each of which takes a port");
        }
        const ns3::Ptr<ns3::Node> to = nodes_.Get(static_cast<std::uint32_t>(message.to));
        const ns3::Ipv4Address address = to->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
        const auto at = static_cast<std::uint16_t>(port);
        ns3::PacketSinkHelper sink("ns3::TcpSocketFactory", ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), at));
        const ns3::Ptr<ns3::Application> receiver = sink.Install(to).Get(0);
        const std::uint64_t bytes = message.bytes == 0 ? 1 : message.bytes;   // 0 would be without end
        transits_.push_back({message.number, bytes});
        receiver->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&Network::receive, this).Bind(&transits_.back()));
        ns3::BulkSendHelper bulk("ns3::TcpSocketFactory", ns3::InetSocketAddress(address, at));
        bulk.SetAttribute("MaxBytes", ns3::UintegerValue(bytes));
        bulk.Install(nodes_.Get(static_cast<std::uint32_t>(message.from)));
    }

    void receive(Transit* transit, ns3::Ptr<const ns3::Packet> packet, const ns3::Address&) {
        const std::uint64_t size = packet->GetSize();
        if (transit->left > 0 && size >= transit->left) {
            arrived_.push_back(transit->number);
            ns3::Simulator::Stop();
        }
        transit->left -= size < transit->left ? size : transit->left;
    }

    static yantra_lines::Time now() { return static_cast<yantra_lines::Time>(ns3::Simulator::Now().GetPicoSeconds()); }

    ns3::NodeContainer nodes_;
    std::map<int, int> ports_;       // the last one taken, by rank
    std::list<Transit> transits_;    // which receivers point to
    std::vector<std::uint64_t> arrived_;
    std::size_t under_way_ = 0;
};

void configure(int argc, char** argv) {
    ns3::Time::SetResolution(ns3::Time::PS);
    ns3::Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(1448));
    ns3::CommandLine commands;
    commands.Parse(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    return yantra_lines::told([&] {
        configure(argc, argv);
        Fabric fabric;
        if (!yantra_lines::read_fabric(std::cin, fabric)) {
            return;
        }
        if (fabric.gives_routes) {
            throw Refusal("ns-3 routes by itself here; set routes: own");
        }
        Network network(fabric);
        std::cout << "ready 1 overhead" << std::endl;
        yantra_lines::Time until = 0;
        const auto send = [&network](const Message& message) { network.send(message); };
        while (yantra_lines::read_up_to_advance(std::cin, until, send)) {
            std::cout << network.advance(until) << std::flush;
        }
    });
}

// Which messages can be confused, whose turns are open, and in what order messages come to a link:
// each law is a short history.
// needs: the parts of a run
#include "fold/runtime/order_guard.hpp"

#include <memory>
#include <string>
#include <vector>

#include "model/test.hpp"
#include "run/simulation.hpp"

#include "fold/runtime/folded_links.cpp"
#include "fold/runtime/order_guard.cpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 ranks = 4;
constexpr ActorId actor{1};
constexpr u64 big = u64{1} << 32U;

Model idle_model() {
    std::vector<std::shared_ptr<const Job>> jobs(ranks, test::job_of({{test::timed(0, 1), {}}}));
    Model model = test::model_of({{Block::ring, ranks, 1.0, 10.0, 1.0}}, jobs);
    model.collectives.system.queues_per_dimension = 2;
    return model;
}

ActorClasses own_classes() {
    ActorClasses classes;
    for (u32 rank = 0; rank < ranks; ++rank) {
        classes.class_of.push_back(rank);
        classes.representative.push_back(rank);
        classes.count.push_back(1);
        classes.memberships.push_back({{0, 0}, {1, 1}});
    }
    classes.communicator_classes.assign(2, classes.class_of);
    return classes;
}

LinkClasses own_links() {
    LinkClasses links;
    for (u32 link = 0; link < 2 * ranks; ++link) {
        links.class_of.push_back(link);
        links.dimension.push_back(0);
        links.count.push_back(1);
    }
    return links;
}

// Each call of `event` begins another event of the tick.
class World {
public:
    explicit World(const Model& model = idle_model()) : model_(model) {
        guard.watch(run_.engine(), run_.executor(), run_.collectives().queues(), &links_);
        wait(5);   // no tick is the number of an actor
    }
    void wait(u64 ticks) {
        run_.engine().queue.leap(ticks);
        event();
    }
    void event() { guard.event_begins(); }
    void chunk_sends(u32 chunk) {
        guard.chunk_sends(actor, ChunkId(chunk), chunk);
        over_the_link();
    }
    void node_sends(u64 bytes) {
        guard.message_posted(actor, bytes, 3, 7, true);
        over_the_link();
    }
    void over_the_link() { links_.send({RankId(0), RankId(1), 100}, {}, {}); }
    void handed_over(u32 chunk, u64 ticks, u64 reduction = OrderWatcher::not_reduced) {
        guard.packet_handed_over(actor, ChunkId(chunk), ticks, reduction);
    }
    void starts(u32 chunk) { guard.exchange_starts(actor, ChunkId(chunk)); }
    bool noted(const std::string& what = "") {
        const std::string& found = guard.found().found();
        return !found.empty() && found.find(what) != std::string::npos;
    }

private:
    Model model_;
    ActorClasses classes_ = own_classes();
    LinkClasses classes_of_links_ = own_links();
    Grid grid_{model_.network.dimensions, model_.network.tables};
    Simulation run_{model_};
    FoldedLinks links_{grid_, model_.semantics.scale, run_.engine(), classes_of_links_};

public:
    OrderGuard guard{model_, classes_};
};

// --- Messages that could stand for each other

struct Posted {
    u64 bytes;
    u32 tag, end;
    bool sends;
    bool operator==(const Posted&) const = default;
};

void messages_stand_for_each_other_that_agree_in_all() {
    std::vector<Posted> all;
    for (const u64 bytes : {u64{3}, u64{4}, big + 3}) {
        for (const u32 tag : {3u, 4u}) {
            for (const u32 end : {3u, 4u}) {
                all.push_back({bytes, tag, end, true});
                all.push_back({bytes, tag, end, false});
            }
        }
    }
    for (const Posted& a : all) {
        for (const Posted& b : all) {
            for (const bool apart : {false, true}) {
                World world;
                world.guard.message_posted(actor, a.bytes, a.tag, a.end, a.sends);
                apart ? world.event() : void();
                world.guard.message_posted(actor, b.bytes, b.tag, b.end, b.sends);
                check(world.noted("two messages alike") == (a == b && apart), "messages alike", a.bytes);
            }
        }
    }
}

// --- Turns of a group

void turns_are_open_that_two_events_of_a_tick_take() {
    for (u32 at = 0; at < 16; ++at) {
        const bool same_tick = at & 1, same_event = at & 2, same_queue = at & 4, same_class = at & 8;
        World world;
        const u64 first = 5;
        world.guard.phase_order_grows(actor, 0, 0, ~u64{0});
        if (!same_tick) {
            world.wait(1);
        } else if (!same_event) {
            world.event();
        }
        const bool follows = same_queue && same_class;
        world.guard.phase_order_grows(ActorId(2), same_class ? 0 : 1, same_queue ? 0 : 1,
                                      follows ? first : ~u64{0});
        check(world.noted("take the turns") == (follows && same_tick && !same_event), "turns of a group", at);
    }
    for (const u64 tick : {4u, 5u, 6u}) {
        World world;
        world.guard.phase_overtakes(actor, tick);
        check(world.noted("start different chunks") == (tick == 5), "a chunk is overtaken", tick);
    }
}

void a_chunk_counts_and_looks_in_different_ticks() {
    for (u32 at = 0; at < 8; ++at) {
        const bool same_tick = at & 1, same_chunk = at & 2, looks = at & 4;
        World world;
        world.guard.barrier_met(actor, ChunkId(6), true);
        same_tick ? world.event() : world.wait(1);
        world.guard.barrier_met(actor, ChunkId(same_chunk ? 6 : 9), looks);
        check(world.noted("counts a message") == (same_tick && same_chunk && !looks), "a barrier", at);
    }
}

void collectives_draw_their_numbers_from_one_counter() {
    for (u32 at = 0; at < 32; ++at) {
        const bool same_event = at & 8, same_group = at & 16;
        Model model = idle_model();
        model.semantics.quirks.phases_as_ready = at & 1;
        model.semantics.quirks.half_queues = at & 2;
        model.collectives.system.inter_dimension = at & 4 ? InterDimension::round_robin : InterDimension::ascending;
        World world(model);
        world.guard.collective_starts(actor, 5);
        same_event ? void() : world.event();
        world.guard.collective_starts(actor, same_group ? 5 : 6);
        const bool shared = same_group || (at & 7) != 0;
        check(world.noted("two collectives") == (shared && !same_event), "two collectives", at);
    }
}

void a_chunk_passes_none_where_collectives_come_one_by_one() {
    for (u32 at = 0; at < 64; ++at) {
        const bool two_slots = at & 2, two_at_once = at & 4, last = at & 16, enters_first = at & 32;
        Model model = idle_model();
        model.semantics.quirks.phases_as_ready = at & 1;
        model.work.resources.collective = {1, static_cast<u8>(two_slots ? 2 : 1)};
        model.work.resources.capacity[1] = two_at_once ? 2 : 1;
        const bool fifo = at & 8;
        model.collectives.system.intra_dimension = fifo ? IntraDimension::fifo : IntraDimension::rg;
        World world(model);
        enters_first ? world.guard.chunk_enters(actor, 3, last) : world.guard.chunk_leaves(actor, 3);
        world.event();
        enters_first ? world.guard.chunk_leaves(actor, 3) : world.guard.chunk_enters(actor, 3, last);
        const bool one_by_one = fifo && ((!two_slots && !two_at_once) || !model.semantics.quirks.phases_as_ready);
        const bool passes = !(one_by_one && last);
        check(world.guard.found().open(actor.index()).queues.empty() == !passes, "a chunk passes", at);
        check(world.noted("two chunks move") == (passes && !fifo && !enters_first), "noted at once", at);
    }
}

// --- Messages that come to a link in one tick

const std::string clash = "two messages come in one tick to the link from rank 0 to rank 1 (dimension 0)";

void one_chunk_or_one_event_sends_in_its_order() {
    World world;
    world.starts(0);
    world.handed_over(0, 10);
    world.handed_over(0, 10);
    world.wait(10);
    world.chunk_sends(0);
    world.chunk_sends(0);
    check(!world.noted(), "one chunk", 0);
    world.wait(1);
    world.node_sends(1);
    world.node_sends(2);
    check(!world.noted(), "nodes of one event", 0);
    world.event();
    world.node_sends(4);
    check(world.noted(clash), "nodes of two events", 0);
}

void nodes_and_chunks_send_in_no_order() {
    for (const bool node_first : {false, true}) {
        World world;
        world.starts(0);
        world.handed_over(0, 10);
        world.wait(10);
        node_first ? world.node_sends(1) : world.chunk_sends(0);
        check(!world.noted(), "alone", 0);
        node_first ? world.chunk_sends(0) : world.node_sends(1);
        check(world.noted(clash), "a node and a chunk", node_first);
    }
    World world;
    world.node_sends(1);
    world.guard.message_posted(actor, 2, 3, 7, false);
    world.over_the_link();
    check(world.noted(clash), "a receive is no send", 0);
}

struct Way {
    u64 after;       // the hand-over of the first
    bool in_event;   // of the first
    u64 ticks[2];
    u64 reduced[2];
    bool in_order;
};

void two_chunks_send_in_the_order_of_what_came_before() {
    constexpr u64 no = OrderWatcher::not_reduced;
    const Way ways[] = {
        {0, true, {10, 10}, {no, no}, true},     // handed over in one event
        {0, false, {10, 10}, {no, no}, false},
        {1, false, {10, 9}, {no, no}, true},     // in different ticks
        {0, true, {5, 5}, {5, 5}, true},
        {0, false, {5, 5}, {5, 5}, false},
        {0, false, {5, 7}, {5, 3}, true},        // reduced from different ticks on
        {1, false, {5, 4}, {5, 5}, true},        // reduced from one on, but handed over before
        {5, false, {5, 5}, {5, no}, false},      // reduced from the tick on in which the other is handed over
        {4, false, {5, 6}, {5, no}, true},
        {4, false, {5, 1}, {5, 5}, true},
    };
    u64 number = 0;
    for (const Way& way : ways) {
        World world;
        world.guard.actor_changes(actor);
        world.starts(0);
        world.starts(1);
        world.handed_over(0, way.ticks[0], way.reduced[0]);
        if (way.after > 0) {
            world.wait(way.after);
        } else if (!way.in_event) {
            world.event();
        }
        world.handed_over(1, way.ticks[1], way.reduced[1]);
        world.wait(10 - way.after);
        world.chunk_sends(0);
        world.chunk_sends(1);
        check(world.noted(clash) == !way.in_order, "two chunks", number);
        ++number;
    }
}

void what_else_changes_an_actor_leaves_the_order_open() {
    for (u32 at = 0; at < 3; ++at) {
        World world;
        world.guard.actor_changes(actor);
        world.starts(0);
        world.starts(1);
        world.handed_over(0, 10);
        world.handed_over(1, 10);
        if (at > 0) {
            at == 1 ? world.event() : world.wait(1);
            world.guard.actor_changes(actor);
        }
        world.wait(at == 2 ? 9 : 10);
        world.chunk_sends(0);
        world.chunk_sends(1);
        check(world.noted(clash) == (at == 1), "what else changes an actor", at);
    }
    World world;
    world.guard.actor_changes(actor);
    world.starts(0);
    world.starts(1);
    world.handed_over(0, 0);
    world.handed_over(1, 0);
    world.chunk_sends(0);
    world.chunk_sends(1);
    check(!world.noted(), "chunks that start together send at once", 0);
    world.guard.actor_changes(actor);
    check(!world.noted(), "the same event goes on", 0);
    world.event();
    world.guard.actor_changes(actor);
    check(world.noted("in which something else starts"), "another event changes the actor", 0);
}

}  // namespace

int main() {
    messages_stand_for_each_other_that_agree_in_all();
    turns_are_open_that_two_events_of_a_tick_take();
    a_chunk_counts_and_looks_in_different_ticks();
    collectives_draw_their_numbers_from_one_counter();
    a_chunk_passes_none_where_collectives_come_one_by_one();
    one_chunk_or_one_event_sends_in_its_order();
    nodes_and_chunks_send_in_no_order();
    two_chunks_send_in_the_order_of_what_came_before();
    what_else_changes_an_actor_leaves_the_order_open();
}

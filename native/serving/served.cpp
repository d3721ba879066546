#include "serving/served.hpp"

namespace yantra::serving {

namespace {

void add_request(Served& to, const Ledger::Entry& of) {
    to.arrival.push_back(of.arrival);
    to.start.push_back(of.start);
    to.first_token.push_back(of.first_token);
    to.second_token.push_back(of.second_token);
    to.moved.push_back(of.moved);
    to.finish.push_back(of.finish);
    to.restarts.push_back(of.restarts);
    to.emissions.push_back(of.emissions);
    to.cached.push_back(static_cast<i64>(of.cached));
    to.recomputed.push_back(static_cast<i64>(of.recomputed));
    to.target.push_back(of.target.is_none() ? -1 : of.target.index());
    to.spent.insert(to.spent.end(), of.spent.begin(), of.spent.end());
    to.behind.insert(to.behind.end(), of.behind.begin(), of.behind.end());
}

void add_gaps(Served& to, const std::vector<Gaps>& all) {
    for (const Gaps& gaps : all) {
        to.gap_first.push_back(gaps.first);
        to.gap_growth.push_back(gaps.growth);
        to.gap_count.push_back(static_cast<i64>(gaps.count));
        to.gap_sequences.push_back(static_cast<i64>(gaps.sequences));
    }
}

void add_log(Served& to, const Fleet& fleet) {
    for (const LoggedIteration& of : fleet.records().log()) {
        to.log_begin.push_back(of.begin);
        to.log_end.push_back(of.end);
        to.log_target.push_back(of.target.index());
        to.log_first.push_back(of.first_item);
    }
    to.log_first.push_back(static_cast<i64>(fleet.records().items().size()));
    for (const Item& item : fleet.records().items()) {
        to.item_request.push_back(item.request.index());
        to.item_tokens.push_back(item.tokens);
        to.item_context.push_back(item.context);
        to.item_decodes.push_back(item.decodes ? 1 : 0);
    }
}

void add_samples(Served& to, const Fleet& fleet) {
    for (const Sample& sample : fleet.records().samples()) {
        to.sample_time.push_back(sample.time);
        to.sample_replica.push_back(sample.replica);
        to.sample_waiting.push_back(sample.waiting);
        to.sample_running.push_back(sample.running);
        to.sample_kv_tokens.push_back(static_cast<i64>(sample.kv_tokens));
        to.sample_batch_tokens.push_back(static_cast<i64>(sample.batch_tokens));
    }
}

u64 evicted_of(const Fleet& fleet) {
    u64 all = 0;
    for (const Replica& replica : fleet.replicas()) {
        for (const Replica::Lane& lane : replica.lanes) {
            all += lane.engine->load().evicted;
        }
    }
    return all;
}

void add_totals(Served& made, Fleet& fleet) {
    for (const Replica& replica : fleet.replicas()) {
        made.replica_iterations.push_back(static_cast<i64>(replica.iterations));
        made.replica_worked.push_back(replica.worked);
        made.replica_up.push_back(replica.was_up);
        made.replica_operations.push_back(replica.amounts.operations);
        made.replica_heavy_ns.push_back(replica.amounts.heavy_ns);
    }
    made.end = fleet.now();
    made.tokens = fleet.ledger().tokens();
    made.emitted = fleet.ledger().emitted();
    made.evicted = evicted_of(fleet);
    made.finished = fleet.ledger().finished();
}

}  // namespace

Served served_of(Fleet& fleet) {
    Served made;
    for (const Ledger::Entry& of : fleet.ledger().entries()) {
        add_request(made, of);
    }
    add_gaps(made, fleet.ledger().gaps());
    add_log(made, fleet);
    add_samples(made, fleet);
    add_totals(made, fleet);
    return made;
}

Served served_of(Fleet& fleet, Stream& stream) {
    Served made;
    for (const Stream::Ended& of : stream.take_ended()) {
        made.row.push_back(static_cast<i64>(of.row));
        made.prompt.push_back(of.prompt);
        made.output.push_back(of.output);
        add_request(made, of.entry);
    }
    add_gaps(made, fleet.ledger().take_gaps());
    add_totals(made, fleet);
    return made;
}

}  // namespace yantra::serving

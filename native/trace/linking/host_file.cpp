#include "trace/linking/host_file.hpp"

#include <array>

#include "base/free_pages.hpp"
#include "trace/linking/in_order.hpp"
#include "trace/linking/json_scan.hpp"

namespace yantra::linking {

namespace {

enum Number : std::size_t { rf_id, tid, fw_tid, seq_id, scope, numbers };
constexpr std::array<std::string_view, numbers> number_names{"rf_id", "tid", "fw_tid", "seq_id", "scope"};

class HostNodeReader {
public:
    std::int64_t id = 0, parent = 0;
    std::string_view name, inputs, outputs;
    std::array<std::int64_t, numbers> number{};
    std::string layout;
    std::vector<std::int64_t> values;

    bool read(JsonScan& in) {
        number = {0, 0, 0, -1, 0};
        inputs = outputs = "[]";
        layout.clear();
        values.clear();
        has_id_ = has_parent_ = has_name_ = false;
        if (!in.object([&](std::string_view key) { return field(in, key); })) {
            return false;
        }
        parent = has_parent_ ? parent : id;
        return has_id_ && has_name_ && !layout.empty();
    }

private:
    bool field(JsonScan& in, std::string_view key) {
        if (key == "id") {
            return has_id_ = in.whole(id);
        }
        if (key == "name") {
            return has_name_ = in.text(name);
        }
        if (key == "ctrl_deps") {
            return dependency(in);
        }
        if (key == "inputs") {
            return in.skip(inputs);
        }
        if (key == "outputs") {
            return in.skip(outputs);
        }
        if (key == "attrs") {
            return layout.empty() && attributes(in);
        }
        std::string_view skipped;
        return in.skip(skipped);
    }

    bool dependency(JsonScan& in) {
        has_parent_ = false;
        if (in.null()) {
            return true;
        }
        if (in.is('[')) {
            return in.list([&] {
                std::int64_t one = 0;
                if (!in.whole(one)) {
                    return false;
                }
                parent = has_parent_ ? parent : one;
                return has_parent_ = true;
            });
        }
        return has_parent_ = in.whole(parent);
    }

    bool attributes(JsonScan& in) {
        layout += '[';
        const bool is_good = in.list([&] {
            if (layout.size() > 1) {
                layout += ',';
            }
            return attribute(in);
        });
        layout += ']';
        return is_good;
    }

    bool attribute(JsonScan& in) {
        std::string_view called, type, value;
        const bool is_good = in.object([&](std::string_view key) {
            std::string_view skipped;
            return key == "name"    ? in.text(called)
                   : key == "type"  ? in.text(type)
                   : key == "value" ? in.skip(value)
                                    : in.skip(skipped);
        });
        // The texts may be empty, but not missing.
        if (!is_good || called.data() == nullptr || type.data() == nullptr || value.empty() ||
            called.find('\\') != std::string_view::npos) {
            return false;
        }
        std::int64_t number_ = 0;
        const bool is_whole = JsonScan::parse(value, number_);
        for (std::size_t at = 0; at < numbers; ++at) {
            if (called == number_names[at]) {
                if (!is_whole) {
                    return false;
                }
                number[at] = number_;
            }
        }
        layout.append("{\"name\":\"").append(called).append("\",\"type\":\"").append(type).append("\",\"value\":");
        if (is_whole) {
            values.push_back(number_);
            layout += '\0';
        } else {
            layout += value;
        }
        layout += '}';
        return true;
    }

    bool has_id_ = false, has_parent_ = false, has_name_ = false;
};

}  // namespace

bool HostFile::feed(std::string_view text) {
    JsonScan in(text);
    HostNodeReader node;
    const bool is_good = in.list([&] {
        if (!node.read(in)) {
            return false;
        }
        id.push_back(node.id);
        parent.push_back(node.parent);
        name.push_back(names.intern(node.name));
        rf_id.push_back(node.number[Number::rf_id]);
        tid.push_back(node.number[Number::tid]);
        fw_tid.push_back(node.number[Number::fw_tid]);
        seq_id.push_back(node.number[Number::seq_id]);
        scope.push_back(node.number[Number::scope]);
        layout.push_back(layouts.intern(node.layout));
        if (layout.back() == holes.size()) {
            holes.push_back(static_cast<std::uint32_t>(node.values.size()));
        }
        inputs.push_back(tensors.intern(node.inputs));
        outputs.push_back(tensors.intern(node.outputs));
        first.push_back(numbers.size());
        numbers.insert(numbers.end(), node.values.begin(), node.values.end());
        return true;
    });
    return is_good && in.at_end();
}

void HostFile::finish() {
    const auto order = order_of(id.size(), [this](std::uint32_t a, std::uint32_t b) {
        return id[a] != id[b] ? id[a] < id[b] : a < b;
    });
    rearrange(order, id, parent, rf_id, tid, fw_tid, seq_id, scope);
    rearrange(order, name, layout, inputs, outputs);
    rearrange(order, first);
    give_back_free_pages();
}

}  // namespace yantra::linking

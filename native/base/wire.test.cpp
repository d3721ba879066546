// WireReader reads what WireWriter wrote, and refuses every prefix of it that ends within a field.
#include "base/wire.hpp"

#include <string>
#include <vector>

#include "base/test.hpp"
#include "base/wire_writer.hpp"

namespace {

using namespace yantra;
using test::check;

struct Field {
    u32 number;
    WireType type;
    u64 value;           // of a number
    std::string bytes;   // of a block
    std::size_t end;     // where it ends in the whole
};

u64 any_number(test::Random& random) { return random.below(~u64{0}) >> random.below(64); }

std::vector<Field> any_fields(test::Random& random, std::string& out) {
    constexpr WireType types[] = {WireType::varint, WireType::fixed64, WireType::block,
                                  WireType::fixed32};
    WireWriter writer(out);
    std::vector<Field> fields;
    for (u64 left = random.below(6); left > 0; --left) {
        Field field{static_cast<u32>(1 + random.below((1 << 29) - 1)), types[random.below(4)],
                    any_number(random), std::string(random.below(200), 'b'), 0};
        if (field.type == WireType::block) {
            writer.block(field.number, field.bytes);
        } else {
            writer.tag(field.number, field.type);
            switch (field.type) {
                case WireType::varint: writer.varint(field.value); break;
                case WireType::fixed64: writer.fixed64(field.value); break;
                default:
                    field.value &= 0xffffffff;
                    writer.fixed32(static_cast<u32>(field.value));
            }
        }
        field.end = out.size();
        fields.push_back(std::move(field));
    }
    return fields;
}

void comes_back(const std::vector<Field>& fields, const std::string& bytes, u64 step) {
    WireReader reader(bytes);
    WireReader skipping(bytes);
    for (const Field& field : fields) {
        const WireTag tag = reader.tag();
        check(tag.field == field.number && tag.type == field.type, "another tag is read", step);
        switch (tag.type) {
            case WireType::varint: check(reader.varint() == field.value, "a varint", step); break;
            case WireType::fixed64: check(reader.fixed64() == field.value, "64 bits", step); break;
            case WireType::fixed32: check(reader.fixed32() == field.value, "32 bits", step); break;
            default: check(reader.block() == field.bytes, "another block is read", step);
        }
        check(reader.offset() == field.end, "a field ends elsewhere", step);
        skipping.skip(skipping.tag().type);
        check(skipping.offset() == field.end, "a field is skipped to elsewhere", step);
    }
    check(reader.at_end() && reader.left() == 0, "something is left", step);
}

// The fields that can be read from a text that is cut off.
void a_prefix_is_refused(const std::vector<Field>& fields, const std::string& bytes, u64 step) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        WireReader reader(std::string_view(bytes).substr(0, size));
        std::size_t whole = 0;
        bool refused = false;
        try {
            for (; !reader.at_end(); ++whole) {
                reader.skip(reader.tag().type);
            }
        } catch (const TraceFault& fault) {
            refused = true;
            check(fault.byte_offset() <= size, "a fault lies behind the end", step);
        }
        std::size_t wanted = 0;
        while (wanted < fields.size() && fields[wanted].end <= size) {
            ++wanted;
        }
        const std::size_t end = wanted == 0 ? 0 : fields[wanted - 1].end;
        check(whole == wanted, "another number of fields is whole", step);
        check(refused == (end != size), "a field cut off is taken, or a whole one refused", step);
    }
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 step = 0; step < 500; ++step) {
        std::string bytes;
        const std::vector<Field> fields = any_fields(random, bytes);
        comes_back(fields, bytes, step);
        a_prefix_is_refused(fields, bytes, step);
    }
}

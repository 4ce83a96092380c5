// Runs ARX on one table: java -cp libarx.jar ArxDriver.java local|global K LIMIT FOLDER
//
// FOLDER has table.tsv, its first line the column names; COLUMN.tsv with the hierarchy of
// the column of that number; and gets released.tsv. Columns without a hierarchy stay as
// they are. Only the public interface of ARX 3.9 is used.

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class ArxDriver {

    // What its graphical interface takes for local recoding: a hundredth of the rows is
    // recoded in each step.
    private static final double STEP = 0.01;

    public static void main(String[] words) throws Exception {
        boolean isLocal = words[0].equals("local");
        int k = Integer.parseInt(words[1]);
        double limit = Double.parseDouble(words[2]);
        Path folder = Path.of(words[3]);

        List<String[]> rows = read(folder.resolve("table.tsv"));
        String[] names = rows.get(0);
        Data data = Data.create(rows);
        for (int column = 0; column < names.length; column++) {
            Path file = folder.resolve(column + ".tsv");
            data.getDefinition().setAttributeType(names[column],
                Files.exists(file)
                    ? Hierarchy.create(read(file))
                    : AttributeType.INSENSITIVE_ATTRIBUTE);
        }

        ARXConfiguration config = ARXConfiguration.create();
        config.addPrivacyModel(new KAnonymity(k));
        config.setSuppressionLimit(isLocal ? 1.0 - STEP : limit);
        config.setQualityModel(Metric.createLossMetric(0.0));
        ARXResult result = new ARXAnonymizer().anonymize(data, config);
        if (!result.isResultAvailable()) {
            return; // no file: there is no release
        }
        DataHandle output = result.getOutput();
        if (isLocal) {
            result.optimizeIterativeFast(output, STEP);
        }
        write(output.iterator(), folder.resolve("released.tsv"));
    }

    private static List<String[]> read(Path file) throws IOException {
        List<String[]> rows = new ArrayList<>();
        for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            rows.add(line.split("\t", -1));
        }
        return rows;
    }

    private static void write(Iterator<String[]> rows, Path file) throws IOException {
        try (PrintWriter out = new PrintWriter(file.toFile(), StandardCharsets.UTF_8)) {
            while (rows.hasNext()) {
                out.print(String.join("\t", rows.next()) + "\n");
            }
        }
    }
}
